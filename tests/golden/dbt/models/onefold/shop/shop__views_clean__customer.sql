-- Written by `onefold export dbt`, which replaces this file: do not edit it.
-- depends_on: {{ ref('shop__customer_current') }}
select
  `on`
from {{ source('shop__views_clean', 'customer') }}
