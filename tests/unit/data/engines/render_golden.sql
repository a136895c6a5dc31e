-- rows, duckdb
SELECT
  "people"."region" AS "k0",
  COUNT(*) AS "m0",
  COALESCE(
    SUM(
      CAST(CASE
        WHEN CAST("people"."age" AS BIGINT) < 0
        THEN 0
        WHEN CAST("people"."age" AS BIGINT) > 120
        THEN 120
        ELSE CAST("people"."age" AS BIGINT)
      END AS BIGINT)
    ),
    0
  ) AS "m1"
FROM "people"
WHERE
  (
    "people"."age" >= 18 AND "people"."region" IN ('n')
  )
  AND NOT "people"."region" IS NULL
GROUP BY
  "people"."region";

-- rows, postgres
SELECT
  "people"."region" AS "k0",
  COUNT(*) AS "m0",
  COALESCE(
    SUM(
      CAST(CASE
        WHEN CAST("people"."age" AS BIGINT) < 0
        THEN 0
        WHEN CAST("people"."age" AS BIGINT) > 120
        THEN 120
        ELSE CAST("people"."age" AS BIGINT)
      END AS BIGINT)
    ),
    0
  ) AS "m1"
FROM "people"
WHERE
  (
    "people"."age" >= 18 AND "people"."region" IN ('n')
  )
  AND NOT "people"."region" IS NULL
GROUP BY
  "people"."region";

-- rows, spark
SELECT
  `people`.`region` AS `k0`,
  COUNT(*) AS `m0`,
  COALESCE(
    SUM(
      CAST(CASE
        WHEN CAST(`people`.`age` AS BIGINT) < 0
        THEN 0
        WHEN CAST(`people`.`age` AS BIGINT) > 120
        THEN 120
        ELSE CAST(`people`.`age` AS BIGINT)
      END AS DECIMAL(38, 0))
    ),
    0
  ) AS `m1`
FROM `people`
WHERE
  (
    `people`.`age` >= 18 AND `people`.`region` IN ('n')
  )
  AND NOT `people`.`region` IS NULL
GROUP BY
  `people`.`region`;

-- users, duckdb
WITH "discreet_bounded_0" AS (
  SELECT
    "who",
    "zone",
    "km",
    "night",
    "note",
    "discreet_place"
  FROM "trips"
  WHERE
    "discreet_place" <= 3
), "discreet_totals" AS (
  SELECT
    "trips"."who" AS "discreet_unit",
    "trips"."zone" AS "k0",
    COALESCE(
      CAST(SUM(
        CASE
          WHEN CAST("trips"."km" AS BIGINT) < 0
          THEN 0
          WHEN CAST("trips"."km" AS BIGINT) > 50
          THEN 50
          ELSE CAST("trips"."km" AS BIGINT)
        END - 25
      ) AS BIGINT),
      0
    ) AS "m0",
    COUNT(CAST("trips"."km" AS BIGINT)) AS "m1",
    COUNT(*) AS "m2",
    MIN(CAST("trips"."discreet_place" AS BIGINT)) AS "discreet_first"
  FROM "discreet_bounded_0" AS "trips"
  WHERE
    (
      "trips"."night" IN (1) OR NOT "trips"."zone" IN ('a"b')
    )
    AND NOT "trips"."zone" IS NULL
  GROUP BY
    "trips"."who",
    "trips"."zone"
), "discreet_ranked" AS (
  SELECT
    *,
    DENSE_RANK() OVER (PARTITION BY "discreet_unit" ORDER BY "discreet_first", "k0") AS "discreet_place"
  FROM "discreet_totals"
)
SELECT
  "k0",
  COALESCE(SUM("m0"), 0) AS "m0",
  COALESCE(SUM("m1"), 0) AS "m1",
  COUNT(*) AS "m2"
FROM "discreet_ranked"
WHERE
  "discreet_place" <= 1
GROUP BY
  "k0";

-- users, postgres
WITH "discreet_bounded_0" AS (
  SELECT
    "who",
    "zone",
    "km",
    "night",
    "note",
    "discreet_place"
  FROM "trips"
  WHERE
    "discreet_place" <= 3
), "discreet_totals" AS (
  SELECT
    "trips"."who" AS "discreet_unit",
    "trips"."zone" AS "k0",
    COALESCE(
      CAST(SUM(
        CASE
          WHEN CAST("trips"."km" AS BIGINT) < 0
          THEN 0
          WHEN CAST("trips"."km" AS BIGINT) > 50
          THEN 50
          ELSE CAST("trips"."km" AS BIGINT)
        END - 25
      ) AS BIGINT),
      0
    ) AS "m0",
    COUNT(CAST("trips"."km" AS BIGINT)) AS "m1",
    COUNT(*) AS "m2",
    MIN(CAST("trips"."discreet_place" AS BIGINT)) AS "discreet_first"
  FROM "discreet_bounded_0" AS "trips"
  WHERE
    (
      "trips"."night" IN (1) OR NOT "trips"."zone" IN ('a"b')
    )
    AND NOT "trips"."zone" IS NULL
  GROUP BY
    "trips"."who",
    "trips"."zone"
), "discreet_ranked" AS (
  SELECT
    *,
    DENSE_RANK() OVER (PARTITION BY "discreet_unit" ORDER BY "discreet_first", "k0") AS "discreet_place"
  FROM "discreet_totals"
)
SELECT
  "k0",
  COALESCE(SUM("m0"), 0) AS "m0",
  COALESCE(SUM("m1"), 0) AS "m1",
  COUNT(*) AS "m2"
FROM "discreet_ranked"
WHERE
  "discreet_place" <= 1
GROUP BY
  "k0";

-- users, spark
WITH `discreet_bounded_0` AS (
  SELECT
    `who`,
    `zone`,
    `km`,
    `night`,
    `note`,
    `discreet_place`
  FROM `trips`
  WHERE
    `discreet_place` <= 3
), `discreet_totals` AS (
  SELECT
    `trips`.`who` AS `discreet_unit`,
    `trips`.`zone` AS `k0`,
    COALESCE(
      CAST(SUM(
        CASE
          WHEN CAST(`trips`.`km` AS BIGINT) < 0
          THEN 0
          WHEN CAST(`trips`.`km` AS BIGINT) > 50
          THEN 50
          ELSE CAST(`trips`.`km` AS BIGINT)
        END - 25
      ) AS BIGINT),
      0
    ) AS `m0`,
    COUNT(CAST(`trips`.`km` AS BIGINT)) AS `m1`,
    COUNT(*) AS `m2`,
    MIN(CAST(`trips`.`discreet_place` AS BIGINT)) AS `discreet_first`
  FROM `discreet_bounded_0` AS `trips`
  WHERE
    (
      `trips`.`night` IN (1) OR NOT `trips`.`zone` IN ('a"b')
    )
    AND NOT `trips`.`zone` IS NULL
  GROUP BY
    `trips`.`who`,
    `trips`.`zone`
), `discreet_ranked` AS (
  SELECT
    *,
    DENSE_RANK() OVER (
      PARTITION BY `discreet_unit`
      ORDER BY `discreet_first` NULLS LAST, `k0` NULLS LAST
    ) AS `discreet_place`
  FROM `discreet_totals`
)
SELECT
  `k0`,
  COALESCE(SUM(CAST(`m0` AS DECIMAL(38, 0))), 0) AS `m0`,
  COALESCE(SUM(CAST(`m1` AS DECIMAL(38, 0))), 0) AS `m1`,
  COUNT(*) AS `m2`
FROM `discreet_ranked`
WHERE
  `discreet_place` <= 1
GROUP BY
  `k0`;

-- totals, duckdb
WITH "discreet_bounded_0" AS (
  SELECT
    "who",
    "zone",
    "km",
    "night",
    "note",
    "discreet_place"
  FROM "trips"
  WHERE
    "discreet_place" <= 3
), "discreet_totals" AS (
  SELECT
    "trips"."who" AS "discreet_unit",
    CAST(SUM(
      CASE
        WHEN -1 + 2 * CAST("trips"."km" AS BIGINT) < -1
        THEN -1
        WHEN -1 + 2 * CAST("trips"."km" AS BIGINT) > 99
        THEN 99
        ELSE -1 + 2 * CAST("trips"."km" AS BIGINT)
      END
    ) AS BIGINT) AS "m0"
  FROM "discreet_bounded_0" AS "trips"
  WHERE
    "trips"."km" >= 4
  GROUP BY
    "trips"."who"
)
SELECT
  COALESCE(SUM(CASE WHEN "m0" < 0 THEN 0 WHEN "m0" > 99 THEN 99 ELSE "m0" END), 0) AS "m0"
FROM "discreet_totals";

-- totals, postgres
WITH "discreet_bounded_0" AS (
  SELECT
    "who",
    "zone",
    "km",
    "night",
    "note",
    "discreet_place"
  FROM "trips"
  WHERE
    "discreet_place" <= 3
), "discreet_totals" AS (
  SELECT
    "trips"."who" AS "discreet_unit",
    CAST(SUM(
      CASE
        WHEN -1 + 2 * CAST("trips"."km" AS BIGINT) < -1
        THEN -1
        WHEN -1 + 2 * CAST("trips"."km" AS BIGINT) > 99
        THEN 99
        ELSE -1 + 2 * CAST("trips"."km" AS BIGINT)
      END
    ) AS BIGINT) AS "m0"
  FROM "discreet_bounded_0" AS "trips"
  WHERE
    "trips"."km" >= 4
  GROUP BY
    "trips"."who"
)
SELECT
  COALESCE(SUM(CASE WHEN "m0" < 0 THEN 0 WHEN "m0" > 99 THEN 99 ELSE "m0" END), 0) AS "m0"
FROM "discreet_totals";

-- totals, spark
WITH `discreet_bounded_0` AS (
  SELECT
    `who`,
    `zone`,
    `km`,
    `night`,
    `note`,
    `discreet_place`
  FROM `trips`
  WHERE
    `discreet_place` <= 3
), `discreet_totals` AS (
  SELECT
    `trips`.`who` AS `discreet_unit`,
    CAST(SUM(
      CASE
        WHEN -1 + 2 * CAST(`trips`.`km` AS BIGINT) < -1
        THEN -1
        WHEN -1 + 2 * CAST(`trips`.`km` AS BIGINT) > 99
        THEN 99
        ELSE -1 + 2 * CAST(`trips`.`km` AS BIGINT)
      END
    ) AS BIGINT) AS `m0`
  FROM `discreet_bounded_0` AS `trips`
  WHERE
    `trips`.`km` >= 4
  GROUP BY
    `trips`.`who`
)
SELECT
  COALESCE(
    SUM(
      CAST(CASE WHEN `m0` < 0 THEN 0 WHEN `m0` > 99 THEN 99 ELSE `m0` END AS DECIMAL(38, 0))
    ),
    0
  ) AS `m0`
FROM `discreet_totals`;

-- values, duckdb
WITH "discreet_bounded_0" AS (
  SELECT
    "who",
    "zone",
    "km",
    "night",
    "note",
    "discreet_place"
  FROM "trips"
  WHERE
    "discreet_place" <= 3
)
SELECT
  CASE
    WHEN CAST("trips"."km" AS BIGINT) < 0
    THEN 0
    WHEN CAST("trips"."km" AS BIGINT) > 50
    THEN 50
    ELSE CAST("trips"."km" AS BIGINT)
  END AS "k0",
  COUNT(*) AS "m0"
FROM "discreet_bounded_0" AS "trips"
WHERE
  NOT "trips"."km" IS NULL
GROUP BY
  CASE
    WHEN CAST("trips"."km" AS BIGINT) < 0
    THEN 0
    WHEN CAST("trips"."km" AS BIGINT) > 50
    THEN 50
    ELSE CAST("trips"."km" AS BIGINT)
  END;

-- values, postgres
WITH "discreet_bounded_0" AS (
  SELECT
    "who",
    "zone",
    "km",
    "night",
    "note",
    "discreet_place"
  FROM "trips"
  WHERE
    "discreet_place" <= 3
)
SELECT
  CASE
    WHEN CAST("trips"."km" AS BIGINT) < 0
    THEN 0
    WHEN CAST("trips"."km" AS BIGINT) > 50
    THEN 50
    ELSE CAST("trips"."km" AS BIGINT)
  END AS "k0",
  COUNT(*) AS "m0"
FROM "discreet_bounded_0" AS "trips"
WHERE
  NOT "trips"."km" IS NULL
GROUP BY
  CASE
    WHEN CAST("trips"."km" AS BIGINT) < 0
    THEN 0
    WHEN CAST("trips"."km" AS BIGINT) > 50
    THEN 50
    ELSE CAST("trips"."km" AS BIGINT)
  END;

-- values, spark
WITH `discreet_bounded_0` AS (
  SELECT
    `who`,
    `zone`,
    `km`,
    `night`,
    `note`,
    `discreet_place`
  FROM `trips`
  WHERE
    `discreet_place` <= 3
)
SELECT
  CASE
    WHEN CAST(`trips`.`km` AS BIGINT) < 0
    THEN 0
    WHEN CAST(`trips`.`km` AS BIGINT) > 50
    THEN 50
    ELSE CAST(`trips`.`km` AS BIGINT)
  END AS `k0`,
  COUNT(*) AS `m0`
FROM `discreet_bounded_0` AS `trips`
WHERE
  NOT `trips`.`km` IS NULL
GROUP BY
  CASE
    WHEN CAST(`trips`.`km` AS BIGINT) < 0
    THEN 0
    WHEN CAST(`trips`.`km` AS BIGINT) > 50
    THEN 50
    ELSE CAST(`trips`.`km` AS BIGINT)
  END;
