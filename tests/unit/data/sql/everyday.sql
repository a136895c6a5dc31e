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
-- refused: OVER: over the rows of a table it would show single rows
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
SELECT city, COUNT(*) AS n, ROUND(100 * COUNT(*) / SUM(COUNT(*)) OVER (), 2) AS pct FROM visits GROUP BY city ORDER BY n DESC;
SELECT to_char(visit_date, 'Dy') AS dow, AVG(cost) FROM visits GROUP BY to_char(visit_date, 'Dy');
SELECT COUNT(*) FROM visits WHERE to_char(visit_date, 'YYYY-MM') = '2025-02';
SELECT AVG((days > 7)::int) AS long_stays FROM visits;
SELECT COUNT(*) FILTER (WHERE days > 7)::float / COUNT(*) AS long_stays FROM visits;
SELECT COUNT(*) FROM visits WHERE (city, smoker) IN (('rome', TRUE), ('oslo', FALSE));
SELECT COUNT(DISTINCT (city, diagnosis)) FROM visits;
SELECT AVG(ln(cost + 1)) FROM visits;
SELECT exp(AVG(ln(cost + 1))) - 1 AS geometric_mean FROM visits;
SELECT sqrt(AVG(power(days - 7, 2))) AS rmse FROM visits;
SELECT floor(log(10, cost + 1)) AS magnitude, COUNT(*) FROM visits GROUP BY 1;
SELECT round(cost, -2) AS hundreds, COUNT(*) FROM visits GROUP BY hundreds;
SELECT ward, SUM(cost) AS s, ntile(4) OVER (ORDER BY SUM(cost)) AS quarter FROM visits GROUP BY ward;
SELECT m, n, SUM(n) OVER (ORDER BY m) AS running FROM (SELECT EXTRACT(MONTH FROM visit_date) AS m, COUNT(*) AS n FROM visits GROUP BY 1) AS q ORDER BY m;
SELECT CASE WHEN n = 1 THEN 'once' WHEN n <= 5 THEN 'few' ELSE 'often' END AS kind, COUNT(*) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) AS t GROUP BY kind;
SELECT AVG(latest - earliest) FROM (SELECT patient_id, MIN(visit_date) AS earliest, MAX(visit_date) AS latest FROM visits GROUP BY patient_id) AS t;
SELECT COUNT(DISTINCT patient_id) FILTER (WHERE smoker) * 1.0 / COUNT(DISTINCT patient_id) AS share FROM visits;
SELECT city, COUNT(*) AS n FROM visits GROUP BY city ORDER BY 2 DESC FETCH FIRST 2 ROWS ONLY;
SELECT city, SUM(cost) / (SELECT SUM(cost) FROM visits) AS share FROM visits GROUP BY city;
-- refused: OVER in a subquery: it looks at other rows
SELECT AVG(cost) FROM (SELECT cost, row_number() OVER (PARTITION BY patient_id ORDER BY visit_date) AS place FROM visits) AS t WHERE place = 1;
-- refused: nothing is computed of it
SELECT COUNT(*) FROM visits WHERE length(notes) > 20;
-- refused: function AGE: it is not known here
SELECT age(discharge, visit_date) FROM visits;
-- refused: = NULL: no comparison with NULL is true
SELECT COUNT(*) FROM visits WHERE notes = NULL;

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
SELECT SAFE_DIVIDE(COUNTIF(smoker), COUNT(*)) AS share FROM visits;
SELECT city, SAFE_DIVIDE(SUM(cost), SUM(days)) AS cost_per_day FROM visits GROUP BY city HAVING COUNT(*) > 100 ORDER BY cost_per_day;
SELECT AVG(CAST(days > 7 AS INT64)) AS long_stays FROM visits;
SELECT DATE_TRUNC(visit_date, MONTH) AS m, COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY DATE_TRUNC(visit_date, MONTH)) AS change FROM visits GROUP BY m ORDER BY m;
SELECT COUNT(*) FROM visits WHERE REGEXP_CONTAINS(LOWER(notes), r'urgent|asthma');
SELECT COUNT(*) FROM visits WHERE visit_date >= DATE_SUB(CURRENT_DATE(), INTERVAL 1 YEAR);
SELECT CONCAT(city, '-', IF(smoker, 'smoker', 'none')) AS k, COUNT(*) FROM visits GROUP BY k;
SELECT COUNT(*) FROM visits WHERE EXTRACT(DAYOFWEEK FROM visit_date) IN (1, 7) AND ward IN (1, 2, 3);
SELECT ward, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS place FROM visits GROUP BY ward QUALIFY place <= 5;
SELECT COUNT(DISTINCT IF(days > 7, city, NULL)) FROM visits;
SELECT city, APPROX_QUANTILES(days, 4)[OFFSET(2)] AS median_stay FROM visits GROUP BY city;
SELECT LN(AVG(cost)) AS log_mean, GREATEST(AVG(cost), 10) AS at_least FROM visits;
WITH base AS (SELECT *, cost / 100 AS hundreds FROM visits WHERE NOT smoker) SELECT city, AVG(hundreds) FROM base GROUP BY city;
-- refused: LOGICAL_AND: one row decides it
SELECT LOGICAL_AND(smoker) FROM visits;
-- refused: ANY_VALUE: its answer is some person's own value
SELECT city, ANY_VALUE(ward) FROM visits GROUP BY city;
WITH a AS (SELECT city, SUM(cost) AS s FROM visits GROUP BY city), b AS (SELECT SUM(cost) AS total FROM visits) SELECT city, s / total FROM a CROSS JOIN b;
-- refused: function RAND: it is not known here
SELECT AVG(cost) FROM visits WHERE RAND() < 0.1;

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
SELECT median(cost), mode(city) FROM visits;
SELECT city, count(*) AS n, avg(count(*)) OVER (ORDER BY city ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS smooth FROM visits GROUP BY city;
SELECT city, sum(cost) AS s, first_value(sum(cost)) OVER (ORDER BY city) AS first FROM visits GROUP BY city;
SELECT count(*) FROM (SELECT DISTINCT patient_id, city FROM visits) AS t;
SELECT city, smoker, count(*) AS n FROM visits GROUP BY ALL;
SELECT avg(sqrt(days)) FROM visits;
SELECT strftime(visit_date, '%Y-%m') AS month, sum(cost) FROM visits WHERE year(visit_date) = 2025 GROUP BY month;
-- refused: PIVOT: it is not part of the language
SELECT * FROM visits PIVOT (count(*) FOR city IN ('rome', 'oslo'));
-- refused: function SKEWNESS: it is not known here
SELECT skewness(cost) FROM visits;

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
SELECT date_format(visit_date, 'EEEE') AS weekday, count(*) FROM visits GROUP BY weekday;
SELECT date_format(visit_date, 'MMM yyyy') AS month, avg(cost) FROM visits WHERE year(visit_date) = 2025 GROUP BY 1;
SELECT count(DISTINCT city, diagnosis) FROM visits;
SELECT log10(avg(cost)) FROM visits;
SELECT count_if(days > 7) / count(*) AS long_stays FROM visits;
SELECT percent_rank() OVER (ORDER BY sum(cost)) AS place, ward FROM visits GROUP BY ward;
-- refused: DATE_FORMAT DD: it has a sign that is not known
SELECT date_format(visit_date, 'DD') AS day, count(*) FROM visits GROUP BY day;
-- refused: COLLECT_SET: it lists the values of single rows
SELECT collect_set(city) FROM visits;

-- What a list that was written without a look at this one asked first.

-- bigquery
SELECT TIMESTAMP_TRUNC(visit_date, MONTH) AS month, COUNT(*) FROM visits GROUP BY month ORDER BY month;
SELECT COUNT(*) FROM visits WHERE visit_date >= TIMESTAMP_SUB(CURRENT_TIMESTAMP(), INTERVAL 30 DAY);
SELECT COUNT(*) FROM visits WHERE visit_date >= TIMESTAMP '2023-01-01 00:00:00' AND visit_date < '2023-02-01 00:00:00';
SELECT COALESCE(city, 'none') AS city, COUNT(*) AS n, AVG(cost) AS mean FROM visits GROUP BY city ORDER BY city;
SELECT SAFE_DIVIDE(COUNTIF(smoker), COUNT(*)) AS rate, city FROM visits GROUP BY city;
SELECT FORMAT_DATE('%A', visit_date) AS weekday, COUNT(*) AS n FROM visits GROUP BY weekday;
SELECT DATE_DIFF(CURRENT_DATE(), visit_date, YEAR) AS years, COUNT(*) FROM visits GROUP BY 1 ORDER BY 1;
WITH per_patient AS (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) SELECT COUNTIF(n >= 2) / COUNT(*) AS again FROM per_patient;
SELECT month, total, total - LAG(total) OVER (ORDER BY month) AS change FROM (SELECT DATE_TRUNC(visit_date, MONTH) AS month, SUM(cost) AS total FROM visits GROUP BY month) ORDER BY month;
-- refused: EXTRACT(HOUR ...): dates have no time of day here
SELECT EXTRACT(HOUR FROM visit_date) AS hour, COUNT(*) FROM visits GROUP BY hour;
-- refused: ORDER BY COUNT(*) DESC LIMIT 3
SELECT APPROX_TOP_COUNT(city, 3) FROM visits;
-- refused: SELECT AVG(n) FROM (SELECT patient_id
SELECT patient_id, SUM(cost) AS spent FROM visits GROUP BY patient_id ORDER BY spent DESC LIMIT 10;

-- postgres
SELECT date_trunc('month', visit_date) AS month, count(*) AS n, sum(cost) AS total, sum(cost) / count(*) AS mean FROM visits GROUP BY 1 ORDER BY 1;
SELECT 100.0 * count(*) FILTER (WHERE smoker) / nullif(count(*), 0) AS pct, city FROM visits GROUP BY city;
SELECT count(*) FROM (SELECT patient_id FROM visits GROUP BY patient_id HAVING sum(cost) > 500) AS dear;
SELECT city, count(*) AS n, count(*) * 100.0 / sum(count(*)) OVER () AS pct FROM visits GROUP BY city;
SELECT percentile_disc(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY age) FROM visits;
SELECT count(*) - count(days) AS missing FROM visits;
-- refused: dates have no time of day here
SELECT count(*) FROM visits WHERE visit_date <= '2023-01-31 23:59:59';
-- refused: OVER: over the rows of a table it would show single rows
SELECT city, cost, row_number() OVER (PARTITION BY city ORDER BY cost DESC) AS place FROM visits;
-- refused: EXPLAIN: it must begin with SELECT, WITH or FROM
EXPLAIN SELECT count(*) FROM visits;

-- duckdb
SELECT avg(days) FROM (SELECT patient_id, count(DISTINCT visit_date) AS days FROM visits GROUP BY patient_id);
SELECT n, count(*) FROM (SELECT patient_id, count(DISTINCT ward) AS n FROM visits GROUP BY patient_id) GROUP BY n;
SELECT count(*) FROM visits ANTI JOIN prescriptions USING (patient_id);
SELECT quantile_cont(cost, [0.1, 0.5, 0.9]) FROM visits;
SELECT round(cost, -2) AS bin, count(*) FROM visits GROUP BY bin ORDER BY bin;
SELECT sqrt(avg(cost * cost)) AS rms FROM visits;
-- refused: OVER: a row would be told from where the others are
SELECT ntile(4) OVER (ORDER BY cost) AS quarter, avg(age) FROM visits GROUP BY quarter;
-- refused: ARG_MAX of an answer
SELECT arg_max(city, n) FROM (SELECT city, count(*) AS n FROM visits GROUP BY city);
-- refused: PIVOT: it must begin with SELECT, WITH or FROM
PIVOT visits ON sex USING count(*) GROUP BY city;
-- refused: What is declared is public
SUMMARIZE visits;

-- spark
SELECT std(cost), min(cost), max(cost) FROM visits WHERE city = 'paris';
SELECT count(*) FROM visits LEFT ANTI JOIN prescriptions ON visits.patient_id = prescriptions.patient_id;
SELECT city, count(*) FROM visits v LEFT SEMI JOIN prescriptions p ON v.patient_id = p.patient_id AND p.drug = 'insulin' GROUP BY city;
SELECT nvl(city, 'none') AS c, count(*) FROM visits GROUP BY c;
SELECT sum(cost) FROM visits WHERE visit_date >= add_months(current_date(), -6);
WITH first_visit AS (SELECT patient_id, min(visit_date) AS first_on FROM visits GROUP BY patient_id) SELECT date_trunc('MONTH', first_on) AS cohort, count(*) FROM first_visit GROUP BY 1 ORDER BY 1;
-- refused: WIDTH_BUCKET(x, 0, 100, 10)
SELECT histogram_numeric(cost, 5) FROM visits;

-- bigquery
SELECT DATE_TRUNC(visit_date, WEEK(MONDAY)) AS week, SUM(cost) AS total FROM visits GROUP BY week ORDER BY week;
SELECT RANGE_BUCKET(cost, [0, 100, 500, 1000]) AS bucket, COUNT(*) FROM visits GROUP BY bucket;
-- refused: Leave OVER out
SELECT PERCENTILE_CONT(cost, 0.5) OVER () AS median FROM visits LIMIT 1;
-- refused: SUM(x) / COUNT(DISTINCT patient_id) with GROUP BY that key
WITH monthly AS (SELECT patient_id, DATE_TRUNC(visit_date, MONTH) AS m, SUM(cost) AS spent FROM visits GROUP BY patient_id, m) SELECT m, AVG(spent) FROM monthly GROUP BY m;

-- postgres
SELECT city, count(*) FILTER (WHERE smoker)::float / count(*) AS rate FROM visits GROUP BY city ORDER BY rate DESC;
SELECT lag(sum(cost)) OVER (ORDER BY date_trunc('month', visit_date)) AS before, sum(cost) AS now FROM visits GROUP BY date_trunc('month', visit_date);

-- duckdb
SELECT date_trunc('quarter', visit_date) AS qtr, sex, sum(cost) FROM visits GROUP BY CUBE (qtr, sex);
-- refused: Write EXP(AVG(LN(x)))
SELECT geomean(cost + 1) FROM visits;
-- refused: EXTRACT(ISOYEAR FROM day)
SELECT yearweek(visit_date) AS yw, count(*) FROM visits GROUP BY yw;

-- spark
SELECT city, sum(cost) FROM visits GROUP BY city GROUPING SETS ((city), ());
SELECT city, min(visit_date), max(visit_date) FROM visits GROUP BY city;
-- refused: SORT BY: it is not part of the language. Write ORDER BY
SELECT city, count(*) AS n FROM visits GROUP BY city SORT BY n DESC;

-- postgres
SELECT COUNT(*) FROM visits WHERE city = ANY(ARRAY['london', 'paris']);
SELECT COUNT(*) FROM visits WHERE visit_date >= to_date('2023-01-01', 'YYYY-MM-DD');
SELECT COUNT(*) FROM visits WHERE ward::text = '12';
SELECT COUNT(CASE WHEN smoker THEN patient_id END) AS smoking, COUNT(CASE WHEN smoker THEN city END) FROM visits;
-- refused: ORDER BY n DESC LIMIT 1 shows the largest
WITH c AS (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) SELECT city FROM c WHERE n = (SELECT MAX(n) FROM c);
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY patient_id HAVING bool_or(smoker)) AS t;
SELECT date_trunc('month', first_cancer) AS m, COUNT(*) FROM (SELECT patient_id, MIN(visit_date) FILTER (WHERE diagnosis = 'C50') AS first_cancer FROM visits GROUP BY patient_id) AS t GROUP BY m;

-- bigquery
SELECT CONCAT(CAST(EXTRACT(YEAR FROM visit_date) AS STRING), '-', LPAD(CAST(EXTRACT(MONTH FROM visit_date) AS STRING), 2, '0')) AS month, COUNT(*) FROM visits GROUP BY month;
SELECT COUNT(*) FROM visits WHERE city IN UNNEST(['london', 'paris']) AND visit_date >= DATE(2023, 1, 1);
SELECT COUNT(*) FROM visits WHERE visit_date < PARSE_DATE('%Y%m%d', '20240101');
SELECT COUNTIF(ever) FROM (SELECT patient_id, LOGICAL_OR(cost > 1000) AS ever FROM visits GROUP BY patient_id);

-- duckdb
SELECT COUNT(*) FROM visits WHERE visit_date >= make_date(2023, 1, 1);
SELECT CAST(FLOOR(age / 10) * 10 AS VARCHAR) || 's' AS band, COUNT(*) FROM visits GROUP BY band;

-- spark
SELECT concat(year(visit_date), '-Q', quarter(visit_date)) AS quarter, count(*) FROM visits GROUP BY quarter;
SELECT count(*) FROM visits WHERE cast(month(visit_date) AS STRING) IN ('1', '2');
