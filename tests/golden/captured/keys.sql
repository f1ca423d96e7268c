SELECT p.source_name, p.database_name, p.primary_key, MAX(p._position) AS _position
FROM (
  SELECT r.source_name, r.database_name, r.primary_key, CASE WHEN r.change_sequence_number IS NULL THEN '0' WHEN REGEXP_CONTAINS(r.change_sequence_number, r'^[0-9A-Fa-f]{1,16}(/[0-9A-Fa-f]{1,16}){0,3}$') THEN CONCAT('2', ARRAY_TO_STRING(ARRAY(SELECT LPAD(UPPER(section), 16, '0') FROM UNNEST(SPLIT(r.change_sequence_number, '/')) AS section WITH OFFSET AS place ORDER BY place), '/')) WHEN REGEXP_CONTAINS(r.change_sequence_number, r'^(?:[0-9A-Fa-f]+(?:/[0-9A-Fa-f]+)*|[0-9A-Fa-f]+:[0-9A-Fa-f]+:[0-9A-Fa-f]+| *0[xX][0-9A-Fa-f]+(?:\.[0-9A-Fa-f]+\.[0-9A-Fa-f]+)? *)$') THEN CONCAT('2', ARRAY_TO_STRING(ARRAY(SELECT IF(LENGTH(section) <= 16, LPAD(section, 16, '0'), CONCAT('X', LPAD(CAST(LENGTH(section) AS STRING), 10, '0'), section)) FROM UNNEST(SPLIT(REGEXP_REPLACE(REGEXP_REPLACE(UPPER(TRIM(r.change_sequence_number, ' ')), r'^(?:0X)?0*', ''), r'[/:.]0*', '/'), '/')) AS section WITH OFFSET AS place ORDER BY place), '/')) ELSE CONCAT('1', ARRAY_TO_STRING(ARRAY(SELECT IF(REGEXP_CONTAINS(piece, r'^[0-9]'), IF(LENGTH(LTRIM(piece, '0')) <= 40, LPAD(LTRIM(piece, '0'), 40, '0'), CONCAT(';', LPAD(CAST(LENGTH(LTRIM(piece, '0')) AS STRING), 10, '0'), LTRIM(piece, '0'))), piece) FROM UNNEST(REGEXP_EXTRACT_ALL(REGEXP_REPLACE(r.change_sequence_number, r'[\x00-\x20]', '!'), r'[0-9]+|[^0-9]+')) AS piece WITH OFFSET AS place ORDER BY place), '')) END AS _position
  FROM (
    SELECT v.source_name, v.database_name, TO_JSON_STRING(v.`datastream_metadata`.primary_key) AS primary_key, v.`datastream_metadata`.change_sequence_number
    FROM `my-project.shop.customer_v_one` AS v
    WHERE v.`_landed_at` >= TIMESTAMP '2024-05-01 00:00:00.000000+00' OR v.`_landed_at` IS NULL
    UNION ALL
    SELECT v.source_name, v.database_name, TO_JSON_STRING(v.`datastream_metadata`.primary_key) AS primary_key, v.`datastream_metadata`.change_sequence_number
    FROM `my-project.shop.customer_v_two` AS v
  ) AS r
) AS p
GROUP BY p.source_name, p.database_name, p.primary_key
