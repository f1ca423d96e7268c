INSERT INTO `my-project.shop.customer_merges` (finished_as, started_at, `base_created`, `keys`, `versions`, landed, time_zones, changes, inserted, updated, below_floor, disputed, ordered_by_text, unknown_types)
VALUES ('merge', TIMESTAMP '2024-05-01 12:30:00.000000+00', TIMESTAMP '2024-05-01 12:30:00.000000+00', '["id"]', '["abc"]', '{}', '[]', 3, NULL, NULL, 0, 0, 0, 0)
