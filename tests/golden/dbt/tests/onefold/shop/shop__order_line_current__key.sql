-- Written by `onefold export dbt`, which replaces this file: do not edit it.
-- Returns each key that several rows have, or that is NULL in a column.
select `id`, `line`
from {{ ref('shop__order_line_current') }}
group by `id`, `line`
having count(*) > 1 or `id` is null or `line` is null
