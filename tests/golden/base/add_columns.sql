ALTER TABLE `my-project.shop.customer_base`
  ADD COLUMN IF NOT EXISTS `tags` ARRAY<STRING>
