-- Questions that analysts of a hospital ask, as they would write them for one of four engines.
-- A line "-- refused: words" before a question says that it must be refused, in these words.

-- postgres
SELECT COUNT(*) FROM visits;
SELECT count(*) AS n FROM visits WHERE age >= 65;
SELECT COUNT(1) FROM visits;
SELECT COUNT(patient_id) FROM visits;
SELECT COUNT(DISTINCT patient_id) FROM visits;
SELECT COUNT(DISTINCT city) FROM visits;
SELECT COUNT(DISTINCT diagnosis) FROM visits WHERE sex = 'female';
SELECT COUNT(days) FROM visits;
SELECT COUNT(discharge) AS discharged FROM visits;
SELECT COUNT(city) FROM visits;
SELECT AVG(age) FROM visits;
SELECT AVG(cost), SUM(cost), COUNT(*) FROM visits;
SELECT sex, COUNT(*) FROM visits GROUP BY sex;
SELECT sex, COUNT(*) FROM visits GROUP BY 1;
SELECT sex AS gender, COUNT(*) FROM visits GROUP BY gender;
SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex ORDER BY n DESC;
SELECT city, COUNT(*) FROM visits GROUP BY city ORDER BY COUNT(*) DESC LIMIT 5;
SELECT city, COUNT(*) AS n FROM visits GROUP BY city ORDER BY 2 DESC, 1 LIMIT 3 OFFSET 1;
SELECT city, COUNT(*) AS n FROM visits GROUP BY city HAVING COUNT(*) > 100;
SELECT city, AVG(cost) AS mean_cost FROM visits GROUP BY city HAVING AVG(cost) > 500 ORDER BY mean_cost;
SELECT city, sex, AVG(age) FROM visits GROUP BY city, sex ORDER BY city, sex;
SELECT SUM(cost) / COUNT(*) AS mean_cost FROM visits;
SELECT 100.0 * SUM(CASE WHEN smoker THEN 1 ELSE 0 END) / COUNT(*) AS pct_smokers FROM visits;
SELECT ROUND(AVG(cost), 2) FROM visits;
SELECT ROUND(100.0 * COUNT(*) FILTER (WHERE smoker) / COUNT(*), 1) AS pct FROM visits;
SELECT MAX(age) - MIN(age) AS age_range FROM visits;
SELECT COUNT(*) FILTER (WHERE age < 18) AS children, COUNT(*) FILTER (WHERE age >= 18) AS adults FROM visits;
SELECT SUM(CASE WHEN age < 18 THEN 1 ELSE 0 END) AS children FROM visits;
SELECT SUM(CASE sex WHEN 'female' THEN cost ELSE 0 END) AS spent_on_women FROM visits;
SELECT CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'senior' END AS band, COUNT(*) FROM visits GROUP BY band;
SELECT CASE WHEN age < 18 THEN 'child' ELSE 'adult' END AS band, AVG(cost) FROM visits GROUP BY 1 ORDER BY 1;
SELECT FLOOR(age / 10) * 10 AS decade, COUNT(*) FROM visits GROUP BY decade ORDER BY decade;
SELECT width_bucket(age, 0, 100, 10) AS bucket, COUNT(*) FROM visits GROUP BY bucket;
SELECT age >= 65 AS senior, COUNT(*) FROM visits GROUP BY age >= 65;
SELECT smoker, AVG(days) FROM visits GROUP BY smoker;
SELECT AVG(COALESCE(days, 0)) FROM visits;
SELECT SUM(GREATEST(days - 7, 0)) AS extra_days FROM visits;
SELECT SUM(LEAST(cost, 1000)) FROM visits;
SELECT AVG(ABS(weight - 70)) FROM visits;
SELECT AVG(weight / (height * height / 10000.0)) AS bmi FROM visits;
SELECT AVG(cost / NULLIF(days, 0)) AS cost_per_day FROM visits;
SELECT date_trunc('month', visit_date) AS month, COUNT(*) FROM visits GROUP BY month ORDER BY month;
SELECT date_trunc('year', visit_date)::date AS year, SUM(cost) FROM visits GROUP BY 1;
SELECT EXTRACT(YEAR FROM visit_date) AS year, COUNT(*) FROM visits GROUP BY EXTRACT(YEAR FROM visit_date);
SELECT EXTRACT(dow FROM visit_date) AS weekday, COUNT(*) FROM visits GROUP BY 1;
SELECT COUNT(*) FROM visits WHERE visit_date >= DATE '2023-01-01' AND visit_date < DATE '2024-01-01';
SELECT COUNT(*) FROM visits WHERE visit_date >= CURRENT_DATE - INTERVAL '30 days';
SELECT COUNT(*) FROM visits WHERE visit_date BETWEEN '2023-01-01' AND '2023-03-31';
SELECT AVG(discharge - visit_date) AS stay FROM visits;
SELECT COUNT(*) FROM visits WHERE city ILIKE 'lon%';
SELECT COUNT(*) FROM visits WHERE lower(city) = 'london';
SELECT COUNT(*) FROM visits WHERE diagnosis LIKE 'B%';
SELECT COUNT(*) FROM visits WHERE diagnosis ~ '^[AB]';
SELECT substr(diagnosis, 1, 1) AS chapter, COUNT(*) FROM visits GROUP BY chapter;
SELECT left(diagnosis, 1) AS chapter, AVG(cost) FROM visits GROUP BY left(diagnosis, 1);
SELECT upper(city) AS c, COUNT(*) FROM visits GROUP BY upper(city);
SELECT COUNT(*) FROM visits WHERE NOT (smoker OR age < 18);
SELECT COUNT(*) FROM visits WHERE days IS NULL;
SELECT COUNT(*) FROM visits WHERE city IN ('london', 'paris') AND age BETWEEN 20 AND 29;
SELECT COUNT(*) FROM visits WHERE city <> 'london' AND smoker IS NOT TRUE;
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY age) FROM visits;
SELECT percentile_disc(0.9) WITHIN GROUP (ORDER BY cost) AS p90 FROM visits;
SELECT city, percentile_cont(0.5) WITHIN GROUP (ORDER BY cost) AS median_cost FROM visits GROUP BY city;
SELECT mode() WITHIN GROUP (ORDER BY city) FROM visits;
SELECT MIN(age), MAX(age) FROM visits;
SELECT stddev(cost), variance(cost) FROM visits;
SELECT corr(age, cost) FROM visits;
SELECT covar_pop(age, cost), regr_slope(cost, age), regr_intercept(cost, age), regr_r2(cost, age) FROM visits;
SELECT w.wing, COUNT(*) FROM visits v JOIN wards w ON v.ward = w.ward GROUP BY w.wing;
SELECT w.wing, AVG(v.cost) FROM visits AS v LEFT JOIN wards AS w USING (ward) GROUP BY w.wing;
SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM wards WHERE wing = 'north');
SELECT COUNT(DISTINCT patient_id) FROM visits WHERE patient_id IN (SELECT patient_id FROM prescriptions WHERE drug = 'insulin');
SELECT city, AVG(cost) FROM visits AS v WHERE NOT EXISTS (SELECT 1 FROM prescriptions AS p WHERE p.patient_id = v.patient_id) GROUP BY city;
SELECT COUNT(*) FROM visits JOIN wards USING (ward) WHERE wing = 'north' AND beds > 10;
WITH adults AS (SELECT * FROM visits WHERE age >= 18) SELECT COUNT(*) FROM adults;
WITH adults AS (SELECT city, cost FROM visits WHERE age >= 18) SELECT city, AVG(cost) FROM adults GROUP BY city;
SELECT AVG(n) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) AS per_patient;
SELECT AVG(total) AS per_patient FROM (SELECT patient_id, SUM(cost) AS total FROM visits GROUP BY patient_id) t;
SELECT COUNT(*) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id HAVING COUNT(*) > 3) AS often;
SELECT n, COUNT(*) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) t GROUP BY n ORDER BY n;
SELECT band, COUNT(*) FROM (SELECT CASE WHEN age < 40 THEN 'young' ELSE 'old' END AS band FROM visits) t GROUP BY band;
SELECT city, smoker, COUNT(*) FROM visits GROUP BY ROLLUP (city, smoker);
SELECT city, sex, COUNT(*) FROM visits GROUP BY GROUPING SETS ((city), (sex), ());
SELECT 'all' AS who, COUNT(*) FROM visits UNION ALL SELECT 'smokers', COUNT(*) FROM visits WHERE smoker;
SELECT drug, COUNT(*) FROM visits JOIN prescriptions USING (patient_id) GROUP BY drug;
SELECT AVG(dose) FROM prescriptions WHERE drug = 'aspirin';
SELECT DISTINCT city FROM visits GROUP BY city HAVING COUNT(*) > 50;
SELECT AVG(n) FROM (SELECT patient_id, COUNT(*) FILTER (WHERE smoker) AS n FROM visits GROUP BY patient_id) AS t;
SELECT AVG(spent) FROM (SELECT patient_id, SUM(cost) FILTER (WHERE city = 'rome') AS spent FROM visits GROUP BY patient_id) AS t;
SELECT AVG(cities) FROM (SELECT patient_id, COUNT(DISTINCT city) AS cities FROM visits GROUP BY patient_id) AS t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY patient_id HAVING COUNT(DISTINCT diagnosis) > 1) AS t;
SELECT AVG(n) FROM (SELECT patient_id, COUNT(diagnosis) AS n FROM visits GROUP BY patient_id) AS t;
SELECT MIN(CASE WHEN smoker THEN visit_date END) AS first_smoker FROM visits;
SELECT city, MAX(visit_date) FILTER (WHERE age > 60) FROM visits GROUP BY city;
SELECT SUM(ROUND(cost)) AS whole, COUNT(*) AS n FROM visits;
-- refused: SUM(DISTINCT ...): only COUNT takes DISTINCT
SELECT SUM(DISTINCT cost) FROM visits;
SELECT city, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM visits GROUP BY city;
-- refused: function LOWER: it is computed in each row
SELECT LOWER(city), COUNT(*) FROM visits GROUP BY city;
SELECT COUNT(*) FROM visits WHERE notes LIKE '%urgent%';
SELECT city, COUNT(*) FILTER (WHERE notes ILIKE '%asthma%') AS asthma, COUNT(*) FROM visits GROUP BY city;
SELECT COUNT(*) FROM visits WHERE lower(notes) IN ('urgent', 'very urgent') AND notes NOT LIKE 'no %';
-- refused: single rows
SELECT * FROM visits LIMIT 10;
-- refused: aggregate
SELECT DISTINCT city FROM visits;
-- refused: city: it is neither a key nor an aggregate
SELECT city, COUNT(*) OVER (PARTITION BY city) FROM visits;
SELECT city, RANK() OVER (ORDER BY COUNT(*) DESC) FROM visits GROUP BY city;
-- refused: identifier
SELECT COUNT(*) FROM visits WHERE patient_id = 'p-17';
-- refused: single units
SELECT patient_id, COUNT(*) FROM visits GROUP BY patient_id;
-- refused: subquery
SELECT COUNT(*) FROM visits WHERE age > (SELECT AVG(age) FROM visits);
-- refused: STRING_AGG
SELECT string_agg(city, ',') FROM visits;
SELECT COUNT(*) FROM visits WHERE notes = 'urgent';
-- refused: not declared
SELECT AVG(salary) FROM visits;
SELECT AVG(n) AS mean_visits FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS per_ward;
SELECT COUNT(*) FILTER (WHERE n > 500) AS busy, MAX(n) AS most FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) AS t;
SELECT ward, AVG(n) AS visits_per_patient FROM (SELECT patient_id, ward, COUNT(*) AS n FROM visits GROUP BY patient_id, ward) AS t GROUP BY ward;

-- bigquery
WITH monthly AS (SELECT DATE_TRUNC(visit_date, MONTH) AS m, COUNT(*) AS n FROM visits GROUP BY m) SELECT m, n FROM monthly WHERE n > 1000 ORDER BY n DESC;
WITH t AS (SELECT city, sex, SUM(cost) AS s, COUNT(*) AS n FROM visits GROUP BY city, sex) SELECT city, SUM(s) / SUM(n) AS mean_cost FROM t GROUP BY city;
SELECT COUNTIF(smoker) FROM visits;
SELECT COUNTIF(age >= 65) / COUNT(*) AS share FROM visits;
SELECT COUNT(DISTINCT IF(age >= 65, patient_id, NULL)) AS seniors FROM visits;
SELECT AVG(n) FROM (SELECT patient_id, COUNTIF(age >= 65) AS n FROM visits GROUP BY patient_id);
SELECT MAX(IF(smoker, visit_date, NULL)) FROM visits;
SELECT SAFE_DIVIDE(SUM(cost), SUM(days)) AS per_day FROM visits;
SELECT city, COUNTIF(smoker) AS smokers, COUNT(*) AS n FROM `visits` GROUP BY city;
SELECT IF(age < 18, 'child', 'adult') AS band, COUNT(*) FROM visits GROUP BY band;
SELECT IFNULL(days, 0) AS d, COUNT(*) FROM visits GROUP BY d;
SELECT AVG(IF(smoker, cost, NULL)) FROM visits;
SELECT DATE_TRUNC(visit_date, MONTH) AS month, COUNT(*) AS n FROM visits GROUP BY month;
SELECT EXTRACT(MONTH FROM visit_date) AS month, AVG(cost) FROM visits GROUP BY month;
SELECT EXTRACT(DAYOFWEEK FROM visit_date) AS day, COUNT(*) FROM visits GROUP BY day;
SELECT FORMAT_DATE('%Y-%m', visit_date) AS month, COUNT(*) FROM visits GROUP BY month;
SELECT COUNT(*) FROM visits WHERE visit_date >= DATE_SUB(CURRENT_DATE(), INTERVAL 7 DAY);
SELECT AVG(DATE_DIFF(discharge, visit_date, DAY)) FROM visits;
SELECT APPROX_QUANTILES(cost, 4) FROM visits;
SELECT APPROX_QUANTILES(age, 100)[OFFSET(50)] FROM visits;
SELECT APPROX_COUNT_DISTINCT(city) FROM visits;
SELECT COUNT(*) FROM visits WHERE STARTS_WITH(diagnosis, 'A');
SELECT COUNT(*) FROM visits WHERE REGEXP_CONTAINS(diagnosis, r'^B[0-9]+$');
SELECT SUM(CAST(smoker AS INT64)) FROM visits;
SELECT SUM(IF(city = 'london', 1, 0)) AS in_london FROM visits;
SELECT MOD(age, 10) AS last_digit, COUNT(*) FROM visits GROUP BY last_digit;
SELECT DIV(age, 10) AS decade, COUNT(*) FROM visits GROUP BY decade;
SELECT LOWER(city) AS c, COUNT(*) FROM visits GROUP BY c;
SELECT AVG(cost) FROM visits WHERE EXTRACT(YEAR FROM visit_date) = 2023;
SELECT STDDEV(age), VAR_SAMP(age) FROM visits;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5, delta = 1e-9, privacy_unit_column = patient_id) city, COUNT(*) AS n FROM visits GROUP BY city;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 2) city, SUM(cost, contribution_bounds_per_group => (0, 500)) FROM visits GROUP BY city;
SELECT city, ROUND(SUM(cost) / COUNT(DISTINCT patient_id), 2) AS per_patient FROM visits GROUP BY city;
-- refused: LOGICAL_OR: one row decides it
SELECT LOGICAL_OR(smoker) FROM visits;
SELECT city, COUNT(*) AS n FROM visits GROUP BY city QUALIFY ROW_NUMBER() OVER (ORDER BY n DESC) <= 3;
-- refused: ARRAY_AGG
SELECT ARRAY_AGG(age) FROM visits;
-- refused: ANY_VALUE
SELECT city, ANY_VALUE(notes) FROM visits GROUP BY city;

-- duckdb
FROM visits SELECT COUNT(*);
FROM visits SELECT city, avg(cost) WHERE age > 60 GROUP BY city;
SELECT city, count(*) FROM visits GROUP BY ALL;
SELECT city, sex, count(*) AS n FROM visits GROUP BY ALL ORDER BY ALL DESC;
SELECT city, count(*) AS n FROM visits GROUP BY city ORDER BY ALL;
SELECT count_if(smoker) FROM visits;
SELECT median(cost) FROM visits;
SELECT quantile_cont(cost, 0.9) FROM visits;
SELECT quantile_cont(cost, [0.25, 0.5, 0.75]) FROM visits;
SELECT approx_quantile(age, 0.5) FROM visits;
SELECT age // 10 AS decade, count(*) FROM visits GROUP BY decade;
SELECT year(visit_date) AS y, month(visit_date) AS m, count(*) FROM visits GROUP BY y, m;
SELECT strftime(visit_date, '%Y-%m') AS month, count(*) FROM visits GROUP BY month;
SELECT date_diff('day', visit_date, discharge) AS stay, count(*) FROM visits GROUP BY stay;
SELECT count(*) FILTER (city = 'london') FROM visits;
SELECT avg(cost) FILTER (WHERE age > 60) - avg(cost) FILTER (WHERE age <= 60) AS gap FROM visits;
SELECT sum(smoker::INT) FROM visits;
SELECT mean(cost) FROM visits;
SELECT mode(city) FROM visits;
SELECT regexp_matches(diagnosis, '^A') AS infection, count(*) FROM visits GROUP BY infection;
SELECT concat(city, '-', sex) AS place, count(*) FROM visits GROUP BY place;
SELECT count(*) FROM visits WHERE contains(city, 'on');
SELECT round(age, -1) AS rounded, count(*) FROM visits GROUP BY rounded;
SELECT floor(cost / 100) * 100 AS bucket, count(*) FROM visits WHERE cost < 1000 GROUP BY bucket;
SELECT city, avg(cost) AS m FROM visits WHERE city IN ('london', 'paris') GROUP BY city ORDER BY m DESC NULLS LAST;
SELECT quarter(visit_date) AS q, sum(cost) FROM visits GROUP BY q;
SELECT monthname(visit_date) AS m, count(*) FROM visits GROUP BY m;
SELECT count(*) AS n, sum(cost) AS total, total / n AS mean FROM visits;
SELECT dayname(visit_date) AS d, count(*) FROM visits GROUP BY d;
SELECT sqrt(avg(age * age) - avg(age) * avg(age)) AS deviation FROM visits;
-- refused: TABLESAMPLE: it is not part of the language
SELECT count(*) FROM visits TABLESAMPLE 10%;
SELECT isodow(visit_date) AS d, count(*) FROM visits GROUP BY d;
-- refused: function HISTOGRAM: it is not known here
SELECT histogram(age) FROM visits;
-- refused: LIST: it lists the values of single rows
SELECT list(city) FROM visits;

-- spark
SELECT city, count(*) AS n FROM visits GROUP BY city ORDER BY n DESC LIMIT 10;
SELECT count(DISTINCT patient_id) AS patients, avg(cost) AS mean FROM visits;
SELECT percentile(cost, 0.5) FROM visits;
SELECT percentile_approx(cost, 0.5) FROM visits;
SELECT percentile_approx(cost, array(0.25, 0.5, 0.75)) FROM visits;
SELECT approx_count_distinct(diagnosis) FROM visits;
SELECT date_format(visit_date, 'yyyy-MM') AS month, count(*) FROM visits GROUP BY month;
SELECT trunc(visit_date, 'MM') AS month, count(*) FROM visits GROUP BY month;
-- refused: function MONTHS_BETWEEN: it is not known here
SELECT months_between(discharge, visit_date) FROM visits;
SELECT datediff(discharge, visit_date) AS stay, count(*) FROM visits GROUP BY stay;
SELECT count(*) FROM visits WHERE visit_date >= date_sub(current_date(), 90);
SELECT count(*) FROM visits WHERE diagnosis RLIKE '^[A-C]';
SELECT nvl(days, 0) AS d, count(*) FROM visits GROUP BY d;
SELECT sum(if(smoker, 1, 0)) / count(*) AS share FROM visits;
SELECT initcap(city) AS c, count(*) FROM visits GROUP BY c;
-- refused: BROUND: halves are rounded away from 0 here
SELECT bround(avg(cost), 1) FROM visits;
SELECT age DIV 10 AS decade, count(*) FROM visits GROUP BY age DIV 10;
SELECT int(age / 5) * 5 AS band, count(*) FROM visits GROUP BY int(age / 5) * 5;
SELECT weekofyear(visit_date) AS week, count(*) FROM visits WHERE year(visit_date) = 2023 GROUP BY week;
SELECT avg(nullif(days, 0)) FROM visits;
-- refused: COLLECT_LIST: it lists the values of single rows
SELECT collect_list(city) FROM visits;
-- refused: FIRST: its answer is some person's own value
SELECT city, first(notes) FROM visits GROUP BY city;
-- refused: function EXPLODE: it is not known here
SELECT explode(split(city, ' ')) FROM visits;
SELECT count(*) FROM visits LEFT SEMI JOIN wards ON visits.ward = wards.ward;
-- refused: CROSS JOIN: only joins on one key are known
SELECT a.city, count(*) FROM visits a CROSS JOIN wards b GROUP BY a.city;
-- refused: BOOL_OR: one row decides it
SELECT bool_or(smoker) FROM visits;
-- refused: function KURTOSIS: it is not known here
SELECT kurtosis(cost) FROM visits;
SELECT city, count(*) FROM visits GROUP BY city WITH ROLLUP;
SELECT count(*) FROM visits WHERE age > 30 AND age <= 40 AND sex = 'male' OR smoker;
SELECT city, sex, avg(weight / height) FROM visits GROUP BY CUBE (city, sex);
