-- Written by `onefold export dbt`, which replaces this file: do not edit it.
-- depends_on: {{ source('shop', 'order_line') }}
select
  `id`,
  `line`
from {{ source('shop', 'order_line_current') }}
