-- Written by `onefold export dbt`, which replaces this file: do not edit it.
-- depends_on: {{ source('shop', 'customer_base') }}
-- depends_on: {{ source('shop', 'customer_v_abc') }}
-- depends_on: {{ source('shop', 'customer_v_def') }}
select
  `order`,
  `on`
from {{ source('shop', 'customer_current') }}
