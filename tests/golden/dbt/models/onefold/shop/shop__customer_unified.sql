-- Written by `onefold export dbt`, which replaces this file: do not edit it.
-- depends_on: {{ source('shop', 'customer_v_abc') }}
-- depends_on: {{ source('shop', 'customer_v_def') }}
select
  `order`,
  `_landed_at`
from {{ source('shop', 'customer_unified') }}
