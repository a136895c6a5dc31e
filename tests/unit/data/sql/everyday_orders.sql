-- Questions of a table of visits and one of orders, as analysts of four engines wrote them before any was tried here.
-- A line "-- refused: words" before a question says that it must be refused, in these words.

-- bigquery
SELECT COUNT(*) AS visits, COUNT(DISTINCT user_id) AS users FROM visits;
SELECT region, COUNT(*) AS n FROM `visits` GROUP BY region ORDER BY n DESC;
SELECT DATE_TRUNC(day, MONTH) AS month, SUM(spent) AS revenue FROM visits GROUP BY month ORDER BY month;
SELECT region, kind, COUNT(DISTINCT user_id) AS users FROM visits GROUP BY 1, 2 ORDER BY 1, 2;
SELECT COUNTIF(paid) / COUNT(*) AS paid_rate FROM visits;
SELECT ward, SAFE_DIVIDE(COUNTIF(paid), COUNT(*)) AS paid_rate FROM visits GROUP BY ward;
SELECT APPROX_QUANTILES(spent, 100)[OFFSET(50)] AS median_spent, APPROX_QUANTILES(spent, 100)[OFFSET(90)] AS p90 FROM visits;
SELECT EXTRACT(DAYOFWEEK FROM day) AS dow, AVG(spent) AS avg_spent FROM visits GROUP BY dow ORDER BY dow;
SELECT r.state, SUM(v.spent) AS revenue FROM visits v JOIN regions r ON v.region = r.region GROUP BY r.state;
-- refused: ANY_VALUE: its answer is some person's own value
SELECT r.state, COUNT(*) / ANY_VALUE(r.population) AS visits_per_head FROM visits v JOIN regions r USING (region) GROUP BY r.state;
WITH per_user AS (SELECT user_id, COUNT(*) AS visits, SUM(spent) AS total FROM visits GROUP BY user_id) SELECT AVG(visits) AS avg_visits, AVG(total) AS avg_total FROM per_user;
WITH per_user AS (SELECT user_id, COUNT(*) AS n FROM visits GROUP BY user_id) SELECT n, COUNT(*) AS users FROM per_user GROUP BY n ORDER BY n;
SELECT COUNT(*) FROM visits WHERE day >= DATE_SUB(CURRENT_DATE(), INTERVAL 30 DAY);
SELECT region, COUNT(*) AS n, ROUND(100 * COUNT(*) / SUM(COUNT(*)) OVER (), 2) AS pct FROM visits GROUP BY region;
SELECT CASE WHEN age < 18 THEN '0-17' WHEN age < 65 THEN '18-64' ELSE '65+' END AS age_band, COUNT(*) AS n, AVG(spent) AS avg_spent FROM visits GROUP BY age_band;
SELECT FORMAT_DATE('%Y-%m', day) AS ym, COUNT(DISTINCT user_id) AS mau FROM visits GROUP BY ym ORDER BY ym;
SELECT COUNT(DISTINCT user_id) AS buyers FROM visits WHERE user_id IN (SELECT user_id FROM orders);
SELECT region, SUM(IF(paid, spent, 0)) AS paid_revenue, SUM(IF(NOT paid, spent, 0)) AS unpaid FROM visits GROUP BY region;
SELECT COUNT(*) FROM visits WHERE REGEXP_CONTAINS(notes, r'refund|chargeback');
SELECT COUNT(*) FROM visits WHERE LOWER(notes) LIKE '%emergency%';
SELECT region, AVG(spent) AS avg_spent, STDDEV(spent) AS sd FROM visits WHERE spent > 0 GROUP BY region HAVING COUNT(*) > 100;
-- refused: user_id: it would show single units
SELECT user_id, day, spent, ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY day) AS nth FROM visits;
WITH firsts AS (SELECT user_id, MIN(day) AS first_day FROM visits GROUP BY user_id) SELECT DATE_TRUNC(first_day, MONTH) AS cohort, COUNT(*) AS new_users FROM firsts GROUP BY cohort ORDER BY cohort;
WITH m AS (SELECT DATE_TRUNC(day, MONTH) AS month, COUNT(*) AS n FROM visits GROUP BY month) SELECT month, n, n - LAG(n) OVER (ORDER BY month) AS change FROM m ORDER BY month;
SELECT kind, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS rnk FROM visits GROUP BY kind;
-- refused: a subquery in an expression: its answer would be exact
SELECT COUNT(*) AS big FROM visits WHERE spent > (SELECT AVG(spent) FROM visits);
SELECT region, COUNT(*) / (SELECT COUNT(*) FROM visits) AS share FROM visits GROUP BY region;
-- refused: SELECT *: single rows are never shown
SELECT * FROM visits LIMIT 10;
-- refused: ARRAY_AGG: it lists the values of single rows
SELECT region, ARRAY_AGG(DISTINCT kind) AS kinds FROM visits GROUP BY region;
SELECT IFNULL(kind, 'unknown') AS kind, COUNT(*) AS n FROM visits GROUP BY 1;
SELECT COUNT(*) AS missing_age FROM visits WHERE age IS NULL;
SELECT COUNT(*) AS n, COUNT(age) AS with_age, COUNT(*) - COUNT(age) AS without_age FROM visits;
SELECT EXTRACT(YEAR FROM day) AS y, EXTRACT(QUARTER FROM day) AS q, SUM(spent) AS total FROM visits GROUP BY y, q ORDER BY y, q;
SELECT region, kind, SUM(spent) AS total FROM visits GROUP BY ROLLUP(region, kind);
SELECT COUNT(DISTINCT v.user_id) FROM visits v JOIN orders o ON v.user_id = o.user_id WHERE o.product = 'book';
SELECT COUNT(DISTINCT user_id) FROM visits v WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.user_id = v.user_id);
SELECT RANGE_BUCKET(age, [18, 30, 45, 65]) AS bucket, COUNT(*) AS n FROM visits GROUP BY bucket ORDER BY bucket;
SELECT CORR(age, spent) AS r FROM visits;
SELECT kind, APPROX_COUNT_DISTINCT(user_id) AS users FROM visits GROUP BY kind;
-- refused: function APPROX_TOP_COUNT: it is not known here
SELECT APPROX_TOP_COUNT(kind, 3) FROM visits;
SELECT region, AVG(spent) FILTER (WHERE paid) FROM visits GROUP BY region;
WITH t AS (SELECT region, DATE_TRUNC(day, WEEK) AS wk, COUNT(*) AS n FROM visits GROUP BY region, wk) SELECT region, AVG(n) AS avg_weekly FROM t GROUP BY region;
SELECT region, spent_total FROM (SELECT region, SUM(spent) AS spent_total FROM visits GROUP BY region) WHERE spent_total > 1000 ORDER BY spent_total DESC LIMIT 3;
SELECT COUNT(*) AS repeaters FROM (SELECT user_id FROM visits GROUP BY user_id HAVING COUNT(*) >= 2);
SELECT COUNT(DISTINCT user_id) AS u FROM visits WHERE user_id IN (SELECT user_id FROM visits GROUP BY user_id HAVING SUM(spent) > 100);
SELECT region, COUNT(DISTINCT IF(paid, user_id, NULL)) AS paying_users FROM visits GROUP BY region;
SELECT DATE_DIFF(DATE '2024-12-31', day, DAY) AS days_ago, COUNT(*) FROM visits GROUP BY days_ago HAVING COUNT(*) > 5;
SELECT region, MAX(spent) AS max_spent, MIN(spent) AS min_spent FROM visits GROUP BY region;
-- refused: STRING_AGG: it lists the values of single rows
SELECT STRING_AGG(notes, ', ') FROM visits WHERE region = 'north';
SELECT region, COUNT(*) AS n FROM visits WHERE kind IN UNNEST(['scan', 'surgery']) AND spent BETWEEN 10 AND 50 GROUP BY region QUALIFY ROW_NUMBER() OVER (ORDER BY n DESC) <= 2;

-- postgres
SELECT count(*) FROM visits;
SELECT region, count(*) FROM visits GROUP BY region ORDER BY count(*) DESC LIMIT 5;
SELECT date_trunc('month', day)::date AS month, sum(spent) FROM visits GROUP BY 1 ORDER BY 1;
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY spent) AS median FROM visits;
SELECT region, percentile_disc(0.9) WITHIN GROUP (ORDER BY age) FROM visits GROUP BY region;
SELECT count(*) FILTER (WHERE paid) AS paid, count(*) FILTER (WHERE NOT paid) AS unpaid FROM visits;
SELECT ward, round(avg(spent)::numeric, 2) AS avg_spent FROM visits GROUP BY ward;
SELECT ward, avg(paid::int) AS paid_rate FROM visits GROUP BY ward;
SELECT extract(dow FROM day) AS dow, count(*) FROM visits GROUP BY dow ORDER BY dow;
SELECT to_char(day, 'YYYY-MM') AS ym, count(DISTINCT user_id) FROM visits GROUP BY ym;
SELECT count(*) FROM visits WHERE day >= '2024-03-01'::date AND day < '2024-03-01'::date + interval '1 month';
SELECT width_bucket(age, 0, 100, 10) AS bucket, count(*) FROM visits GROUP BY bucket ORDER BY bucket;
-- refused: SUM(DISTINCT ...): only COUNT takes DISTINCT
SELECT r.state, count(*)::float / sum(DISTINCT r.population) FROM visits v JOIN regions r ON r.region = v.region GROUP BY r.state;
-- refused: GROUP BY: it has more than 1000000 declared groups
SELECT v.region, r.population, count(*) AS n, 1000.0 * count(*) / r.population AS per_thousand FROM visits v JOIN regions r USING (region) GROUP BY v.region, r.population;
SELECT count(DISTINCT user_id) FROM visits WHERE notes ILIKE '%pain%';
SELECT region, sum(spent) AS total, sum(sum(spent)) OVER (ORDER BY region) AS running FROM visits GROUP BY region;
SELECT * FROM (SELECT region, kind, count(*) AS n, row_number() OVER (PARTITION BY region ORDER BY count(*) DESC) AS rn FROM visits GROUP BY region, kind) t WHERE rn = 1;
WITH monthly AS (SELECT date_trunc('month', day) AS m, sum(spent) AS s FROM visits GROUP BY 1) SELECT m, s, s / lag(s) OVER (ORDER BY m) - 1 AS growth FROM monthly;
SELECT avg(n) FROM (SELECT user_id, count(*) AS n FROM visits GROUP BY user_id) s;
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY total) FROM (SELECT user_id, sum(spent) AS total FROM visits GROUP BY user_id) t;
SELECT count(*) FROM (SELECT user_id FROM visits WHERE paid GROUP BY user_id HAVING count(*) > 3) q;
SELECT count(*) FROM (SELECT DISTINCT user_id FROM visits WHERE region = 'north') q;
SELECT count(DISTINCT v.user_id) FROM visits v WHERE EXISTS (SELECT 1 FROM orders o WHERE o.user_id = v.user_id AND o.price > 50);
SELECT v.region, avg(o.price) FROM visits v JOIN orders o ON o.user_id = v.user_id GROUP BY v.region;
SELECT v.region, count(o.user_id) FROM visits v LEFT JOIN orders o ON o.user_id = v.user_id GROUP BY v.region;
-- refused: SELECT: it asks for no aggregate
SELECT DISTINCT region FROM visits;
SELECT region, kind, count(*) FROM visits GROUP BY GROUPING SETS ((region), (kind), ());
SELECT region, kind, count(*) FROM visits GROUP BY CUBE (region, kind) ORDER BY 1 NULLS LAST, 2 NULLS LAST;
SELECT coalesce(region, 'missing') AS region, count(*) FROM visits GROUP BY 1;
SELECT count(*) FROM visits WHERE notes IS NULL OR notes = '';
-- refused: function DATE_PART: it is computed in each row, and SELECT holds keys, aggregates and what is computed of them
SELECT date_part('year', age(day)) FROM visits;
SELECT CASE WHEN spent = 0 THEN 'free' WHEN spent < 50 THEN 'cheap' ELSE 'dear' END AS bucket, count(*), sum(spent) FROM visits GROUP BY 1 ORDER BY 2 DESC;
-- refused: STRING_AGG: it lists the values of single rows
SELECT region, string_agg(DISTINCT kind, ',') FROM visits GROUP BY region;
SELECT stddev_samp(spent), var_pop(spent), corr(age, spent), regr_slope(spent, age) FROM visits;
-- refused: GROUP BY user_id: it would show single units
SELECT user_id, sum(spent) FROM visits GROUP BY user_id ORDER BY 2 DESC LIMIT 10;
-- refused: SELECT: it names no table
SELECT generate_series('2024-01-01'::date, '2024-12-31'::date, '1 month');
SELECT day, count(*), avg(count(*)) OVER (ORDER BY day ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS weekly_avg FROM visits GROUP BY day ORDER BY day;
SELECT region, mode() WITHIN GROUP (ORDER BY kind) FROM visits GROUP BY region;
SELECT count(*) FROM visits WHERE (region, kind) IN (('north', 'scan'), ('south', 'checkup'));
SELECT count(*) FROM visits v, regions r WHERE v.region = r.region AND r.population > 500000;
SELECT region, count(*) FROM visits WHERE region IN (SELECT region FROM regions WHERE state = 'alpha') GROUP BY region;
-- refused: BOOL_OR: one row decides it
SELECT bool_or(paid) FROM visits;
SELECT region, sum(CASE WHEN kind = 'scan' THEN 1 ELSE 0 END) AS scans, sum(CASE WHEN kind = 'surgery' THEN 1 ELSE 0 END) AS surgeries FROM visits GROUP BY region;
SELECT 'north' AS which, count(*) FROM visits WHERE region = 'north' UNION ALL SELECT 'rest', count(*) FROM visits WHERE region <> 'north';
-- refused: OVER: over the rows of a table it would show single rows
SELECT day - lag(day) OVER (PARTITION BY user_id ORDER BY day) AS gap FROM visits;
-- refused: OVER in a subquery: it looks at other rows
SELECT avg(gap) FROM (SELECT user_id, day - lag(day) OVER (PARTITION BY user_id ORDER BY day) AS gap FROM visits) g;
SELECT count(*) FROM (SELECT user_id, max(day) AS last_day FROM visits GROUP BY user_id) l WHERE last_day < '2024-06-01';
WITH active AS (SELECT user_id, max(day) AS last_day, min(day) AS first_day FROM visits GROUP BY user_id) SELECT avg(last_day - first_day) AS avg_lifetime FROM active;
-- refused: a subquery in an expression: its answer would be exact
SELECT count(*) FROM visits WHERE spent > (SELECT percentile_cont(0.95) WITHIN GROUP (ORDER BY spent) FROM visits);
SELECT v.kind, sum(v.spent) FROM visits v WHERE v.user_id NOT IN (SELECT user_id FROM orders WHERE product = 'toy') GROUP BY v.kind HAVING sum(v.spent) > 0;

-- duckdb
SELECT region, count() AS n FROM visits GROUP BY ALL ORDER BY ALL;
FROM visits SELECT kind, avg(spent) GROUP BY kind;
-- refused: SELECT *: single rows are never shown
FROM visits;
-- refused: SUMMARIZE: it must begin with SELECT, WITH or FROM
SUMMARIZE visits;
-- refused: function MAD: it is not known here
SELECT median(spent), quantile_cont(spent, 0.9), mad(spent) FROM visits;
SELECT quantile_cont(spent, [0.25, 0.5, 0.75]) FROM visits;
SELECT region, sum(spent) AS total FROM visits GROUP BY region HAVING total > 500 ORDER BY total DESC;
SELECT year(day) AS y, month(day) AS m, count(*) AS n FROM visits GROUP BY y, m ORDER BY y, m;
SELECT strftime(day, '%Y-%m') AS ym, sum(spent) FROM visits GROUP BY ym;
SELECT dayname(day) AS weekday, count(*) FROM visits GROUP BY weekday;
SELECT count_if(paid) AS n_paid, count_if(NOT paid) AS n_unpaid FROM visits;
-- refused: ARG_MAX: its answer is some person's own value
SELECT region, arg_max(kind, spent) FROM visits GROUP BY region;
SELECT mode(kind) FROM visits;
-- refused: function HISTOGRAM: it is not known here
SELECT histogram(age) FROM visits;
SELECT age // 10 * 10 AS decade, count(*) AS n, avg(spent) AS mean_spent FROM visits GROUP BY decade ORDER BY decade;
SELECT floor(spent / 25) * 25 AS bin, count(*) FROM visits GROUP BY bin ORDER BY bin;
SELECT region, count(*) FILTER (kind = 'scan') AS scans FROM visits GROUP BY region;
-- refused: PIVOT: it must begin with SELECT, WITH or FROM
PIVOT visits ON kind USING count(*) GROUP BY region;
SELECT region, kind, count(*) AS n FROM visits GROUP BY region, kind QUALIFY row_number() OVER (PARTITION BY region ORDER BY n DESC) = 1;
-- refused: SELECT *: single rows are never shown
SELECT * FROM visits QUALIFY row_number() OVER (PARTITION BY user_id ORDER BY day DESC) = 1;
-- refused: QUALIFY in a subquery: it keeps rows by a window over the rows of others
SELECT region, count(*) FROM (SELECT * FROM visits QUALIFY row_number() OVER (PARTITION BY user_id ORDER BY day DESC) = 1) GROUP BY region;
-- refused: TABLESAMPLE: it is not part of the language
SELECT count(*) FROM visits USING SAMPLE 10%;
SELECT region, count(DISTINCT day) AS active_days FROM visits GROUP BY region;
SELECT region, approx_count_distinct(user_id) FROM visits GROUP BY region;
SELECT avg(days) FROM (SELECT user_id, count(DISTINCT day) AS days FROM visits GROUP BY user_id);
SELECT region, avg(total) FROM (SELECT user_id, region, sum(spent) AS total FROM visits GROUP BY ALL) GROUP BY region;
SELECT v.region, o.product, count(*) FROM visits v JOIN orders o USING (user_id) GROUP BY ALL;
SELECT count(*) FROM visits SEMI JOIN orders USING (user_id);
SELECT count(*) FROM visits ANTI JOIN orders USING (user_id);
SELECT state, sum(spent) / sum(population) FROM visits JOIN regions USING (region) GROUP BY state;
SELECT kind, sum(spent) AS total, total / sum(total) OVER () AS share FROM visits GROUP BY kind;
SELECT region, avg(spent) - (SELECT avg(spent) FROM visits) AS diff FROM visits GROUP BY region;
WITH tot AS (SELECT sum(spent) AS t FROM visits) SELECT region, sum(spent) / (SELECT t FROM tot) AS share FROM visits GROUP BY region;
WITH tot AS (SELECT count(*) AS c FROM visits) SELECT region, count(*) / any_value(c) FROM visits, tot GROUP BY region;
-- refused: LAG OVER (ORDER BY an aggregate): the rows that it looks at would be chosen by noise
SELECT region, count(*) AS n, lag(n) OVER (ORDER BY n) FROM visits GROUP BY region;
SELECT date_trunc('week', day) AS wk, count(DISTINCT user_id) AS wau FROM visits GROUP BY wk ORDER BY wk;
SELECT datediff('day', DATE '2024-01-01', day) AS d, count(*) FROM visits GROUP BY d ORDER BY d;
SELECT count(*) FROM visits WHERE notes LIKE '%urgent%' AND kind != 'checkup';
SELECT regexp_matches(notes, 'urgent|asap') AS urgent, count(*) FROM visits GROUP BY urgent;
-- refused: notes: free text is compared with text in quotes, by =, <>, IN and LIKE; nothing is computed of it
SELECT length(notes) AS len, count(*) FROM visits GROUP BY len;
-- refused: notes: free text is compared with text in quotes, by =, <>, IN and LIKE; nothing is computed of it
SELECT avg(length(notes)) FROM visits;
SELECT if(age >= 65, 'senior', 'other') AS grp, median(spent) FROM visits GROUP BY grp;
SELECT upper(region) AS r, count(*) FROM visits GROUP BY r;
SELECT region[1:1] AS initial, count(*) FROM visits GROUP BY initial;
SELECT count(*) AS n, round(avg(spent), 2) AS mean, round(stddev(spent), 2) AS sd, min(spent), max(spent) FROM visits WHERE spent IS NOT NULL;
SELECT kind, max(day) AS latest FROM visits GROUP BY kind;
-- refused: MAX_BY: its answer is some person's own value
SELECT region, max_by(ward, spent) FROM visits GROUP BY region;
SELECT n_visits, count(*) AS users FROM (SELECT user_id, least(count(*), 5) AS n_visits FROM visits GROUP BY user_id) GROUP BY n_visits ORDER BY n_visits;
SELECT count(*) FROM visits WHERE day BETWEEN '2024-01-01' AND '2024-01-31' AND isodow(day) IN (6, 7);
-- refused: function SKEWNESS: it is not known here
SELECT skewness(spent), kurtosis(spent), entropy(kind) FROM visits;

-- spark
SELECT region, count(1) AS cnt FROM visits GROUP BY region;
SELECT date_format(day, 'yyyy-MM') AS month, count(distinct user_id) AS users FROM visits GROUP BY date_format(day, 'yyyy-MM');
SELECT trunc(day, 'MM') AS month, sum(spent) AS revenue FROM visits GROUP BY trunc(day, 'MM') ORDER BY month;
SELECT percentile_approx(spent, 0.5) AS p50, percentile_approx(spent, 0.95) AS p95 FROM visits;
SELECT percentile(spent, array(0.25, 0.5, 0.75)) FROM visits;
-- refused: COLLECT_SET: it lists the values of single rows
SELECT region, collect_set(kind) FROM visits GROUP BY region;
-- refused: FIRST: its answer is some person's own value
SELECT region, first(kind) FROM visits GROUP BY region;
SELECT weekofyear(day) AS wk, count(*) FROM visits GROUP BY weekofyear(day);
SELECT dayofweek(day) AS d, avg(spent) FROM visits GROUP BY dayofweek(day) ORDER BY d;
SELECT region, sum(CASE WHEN paid = true THEN spent ELSE 0 END) AS paid_amt FROM visits GROUP BY region;
SELECT count_if(spent > 100) AS big_visits FROM visits;
SELECT region, kind, count(*) FROM visits GROUP BY region, kind WITH ROLLUP;
SELECT region, kind, grouping_id() AS gid, count(*) FROM visits GROUP BY region, kind WITH CUBE;
-- refused: PIVOT: it is not part of the language
SELECT * FROM (SELECT region, kind, spent FROM visits) PIVOT (sum(spent) FOR kind IN ('scan', 'checkup', 'surgery'));
SELECT nvl(kind, 'n/a') AS kind, count(*) FROM visits GROUP BY nvl(kind, 'n/a');
SELECT count(*) FROM visits WHERE kind RLIKE '^s';
SELECT count(*) FROM visits WHERE notes RLIKE '(?i)refund';
SELECT count(*) FROM visits WHERE day > date_add(current_date(), -7);
SELECT datediff(max_day, min_day) AS span, count(*) AS users FROM (SELECT user_id, max(day) AS max_day, min(day) AS min_day FROM visits GROUP BY user_id) t GROUP BY datediff(max_day, min_day);
-- refused: function MONTHS_BETWEEN: it is not known here
SELECT months_between(current_date(), day) FROM visits;
SELECT add_months(trunc(day, 'MM'), 1) AS next_month, count(*) FROM visits GROUP BY 1;
SELECT region, approx_count_distinct(user_id) AS u, count(*) AS n, count(*) / approx_count_distinct(user_id) AS per_user FROM visits GROUP BY region;
SELECT v.region, r.state, sum(v.spent) FROM visits v LEFT JOIN regions r ON v.region = r.region GROUP BY v.region, r.state;
SELECT count(*) FROM visits v LEFT SEMI JOIN orders o ON v.user_id = o.user_id;
SELECT count(*) FROM visits v LEFT ANTI JOIN orders o ON v.user_id = o.user_id;
SELECT /*+ BROADCAST(r) */ r.state, count(*) FROM visits v JOIN regions r ON v.region = r.region GROUP BY r.state;
SELECT avg(o_total) FROM (SELECT v.user_id, sum(o.price) AS o_total FROM visits v JOIN orders o ON v.user_id = o.user_id GROUP BY v.user_id) t;
-- refused: function SKEWNESS: it is not known here
SELECT region, stddev(spent), variance(spent), skewness(spent) FROM visits GROUP BY region;
SELECT size(collect_set(user_id)) FROM visits;
-- refused: GROUP BY user_id: it would show single units
SELECT user_id, count(*) AS n FROM visits GROUP BY user_id HAVING n > 5;
-- refused: COUNT(DISTINCT ...): with the unit beside it, it counts rows of a subquery
SELECT count(DISTINCT user_id, kind) FROM visits;
SELECT round(spent, -1) AS bucket, count(*) FROM visits GROUP BY bucket;
-- refused: CAST(x / y AS INT): of a quotient, some dialects cut the rest off by it and others round
SELECT cast(age / 10 AS int) AS decade, count(*) FROM visits GROUP BY cast(age / 10 AS int);
SELECT region, max(spent) - min(spent) AS spread FROM visits GROUP BY region;
SELECT kind, sum(spent) AS total FROM visits GROUP BY kind ORDER BY total DESC NULLS LAST LIMIT 3;
SELECT kind, total, dense_rank() OVER (ORDER BY total DESC) AS rk FROM (SELECT kind, sum(spent) AS total FROM visits GROUP BY kind);
SELECT year(day) AS yr, sum(spent) AS total, sum(spent) - lag(sum(spent)) OVER (ORDER BY year(day)) AS diff FROM visits GROUP BY year(day);
SELECT region, sum(spent) FROM visits WHERE year(day) = 2024 AND month(day) BETWEEN 1 AND 3 GROUP BY region;
SELECT count(*) FROM visits WHERE region <=> 'north';
SELECT substr(region, 1, 1) AS c, count(*) FROM visits GROUP BY c;
SELECT initcap(region) AS reg, mean(spent) FROM visits GROUP BY initcap(region);
SELECT region, sum(spent) AS s FROM visits GROUP BY region HAVING sum(spent) > (SELECT 0.2 * sum(spent) FROM visits);
SELECT o.product, count(distinct o.user_id) FROM orders o JOIN visits v ON o.user_id = v.user_id AND v.kind = 'surgery' GROUP BY o.product;
SELECT CASE WHEN cnt = 1 THEN 'one' WHEN cnt <= 3 THEN 'few' ELSE 'many' END AS freq, count(*) AS users, sum(total) AS revenue FROM (SELECT user_id, count(*) AS cnt, sum(spent) AS total FROM visits GROUP BY user_id) u GROUP BY 1;
-- refused: OVER in a subquery: it looks at other rows
WITH ranked AS (SELECT user_id, kind, row_number() OVER (PARTITION BY user_id ORDER BY day) AS rn FROM visits) SELECT kind, count(*) FROM ranked WHERE rn = 1 GROUP BY kind;
-- refused: JOIN of a subquery: it has one row a unit
WITH a AS (SELECT user_id, sum(spent) AS s FROM visits GROUP BY user_id), b AS (SELECT user_id, sum(price) AS p FROM orders GROUP BY user_id) SELECT avg(a.s + b.p) FROM a JOIN b ON a.user_id = b.user_id;
-- refused: JOIN of a subquery: it has one row a unit
WITH u AS (SELECT user_id, sum(spent) AS s FROM visits GROUP BY user_id) SELECT v.region, avg(u.s) FROM visits v JOIN u ON v.user_id = u.user_id GROUP BY v.region;
-- refused: OVER: a row would be told from where the others are
WITH u AS (SELECT user_id, sum(spent) AS s FROM visits GROUP BY user_id) SELECT ntile(4) OVER (ORDER BY s) AS q, count(*) FROM u GROUP BY q;
SELECT ward, count(*) * 100.0 / sum(count(*)) OVER (PARTITION BY region) AS pct FROM visits GROUP BY region, ward;
-- refused: function explode: it is not known here
SELECT explode(split(notes, ' ')) AS word, count(*) FROM visits GROUP BY word ORDER BY 2 DESC;

-- duckdb
SELECT region, count() AS n FROM visits GROUP BY ALL;
SELECT region, avg(total) FROM (SELECT user_id, region, sum(spent) AS total FROM visits GROUP BY ALL) GROUP BY region;
SELECT region, kind, grouping_id(region, kind) AS gid, count(*) FROM visits WHERE region IS NOT NULL AND kind IS NOT NULL GROUP BY CUBE(region, kind);
SELECT o.product, count(distinct o.user_id) FROM orders o JOIN visits v ON o.user_id = v.user_id AND v.kind = 'surgery' GROUP BY o.product;
SELECT count(*) FROM orders o JOIN visits v ON v.day = o.day AND (o.user_id = v.user_id AND v.kind = 'surgery');
-- refused: LAG OVER (ORDER BY an aggregate): the rows that it looks at would be chosen by noise
SELECT region, count(*) AS n, lag(n) OVER (ORDER BY n) FROM visits GROUP BY region;
SELECT COUNT(*) FROM (SELECT DISTINCT user_id, kind FROM visits);
SELECT COUNT(*) FROM (SELECT DISTINCT user_id, kind FROM visits WHERE kind IS NOT NULL);
SELECT r.state, SUM(v.spent) AS revenue FROM visits v JOIN regions r ON v.region = r.region AND r.population > 50000 GROUP BY r.state;
-- refused: ON: joins are on one key; of an inner JOIN what stands beside it by AND is read as in WHERE
SELECT count(*) FROM visits v LEFT JOIN regions r ON v.region = r.region AND r.state = 'alpha';
SELECT region, COUNT(*) / (SELECT COUNT(*) FROM visits) AS share FROM visits GROUP BY region;
SELECT region, avg(spent) - (SELECT avg(spent) FROM visits) AS diff FROM visits GROUP BY region;
WITH tot AS (SELECT sum(spent) AS t FROM visits) SELECT region, sum(spent) / (SELECT t FROM tot) AS share FROM visits GROUP BY region;
SELECT region, sum(spent) AS s FROM visits GROUP BY region HAVING sum(spent) > (SELECT 0.2 * sum(spent) FROM visits);
SELECT region, sum(spent) AS s FROM visits WHERE region IN ('north','south') AND paid GROUP BY region HAVING sum(spent) > (SELECT 0.05 * sum(spent) FROM visits);
SELECT COUNT(*) / (SELECT COUNT(*) FROM visits) AS share FROM visits WHERE paid;
SELECT (SELECT COUNT(*) FROM visits WHERE paid) * 100.0 / COUNT(*) AS share FROM visits;
SELECT kind, region, COUNT(*) * 1.0 / (SELECT COUNT(*) FROM visits WHERE NOT paid) AS share FROM visits WHERE age >= 18 GROUP BY ROLLUP(kind, region) HAVING COUNT(*) > 3;
SELECT EXTRACT(MONTH FROM day) AS m, COUNT(*) - (SELECT COUNT(*) FROM visits) / 12 AS above FROM visits WHERE day >= '2024-06-01' GROUP BY m ORDER BY above DESC LIMIT 3;
WITH u AS (SELECT user_id, COUNT(*) AS n, SUM(spent) AS s FROM visits GROUP BY user_id) SELECT n, AVG(s) / (SELECT AVG(s) FROM u) AS rel FROM u GROUP BY n;
SELECT COUNT(DISTINCT user_id) * 1.0 / (SELECT COUNT(DISTINCT user_id) FROM visits) AS reach FROM visits WHERE kind = 'scan';
SELECT kind, COUNT(DISTINCT user_id) * 1.0 / (SELECT COUNT(DISTINCT user_id) FROM visits) AS reach FROM visits WHERE paid GROUP BY kind ORDER BY reach DESC;
SELECT COUNT(*) FROM visits HAVING COUNT(*) > (SELECT COUNT(*) / 2 FROM visits WHERE paid);
-- refused: a subquery in an expression beside OVER: it is not part of the language
SELECT region, SUM(COUNT(*)) OVER () AS a, COUNT(*) / (SELECT COUNT(*) FROM visits) AS share FROM visits GROUP BY region;
-- refused: a subquery in an expression: it is of other tables than the question around it, or joins others
SELECT region, COUNT(*) / (SELECT COUNT(*) FROM orders) AS share FROM visits GROUP BY region;
-- refused: regions: it is a public table
SELECT region, COUNT(*) / (SELECT SUM(population) FROM regions) AS share FROM visits GROUP BY region;
-- refused: v: no table of FROM has this name
SELECT v.region, COUNT(*) / (SELECT COUNT(*) FROM visits w WHERE w.region = v.region) AS share FROM visits v WHERE paid GROUP BY v.region;
SELECT region, MEDIAN(spent) - (SELECT MEDIAN(spent) FROM visits) AS d FROM visits GROUP BY region;
-- refused: a subquery in an expression: its answer would be exact
SELECT COUNT(*) AS n FROM visits WHERE spent > (SELECT AVG(spent) FROM visits);

-- postgres
WITH v AS (SELECT *, age+1 AS y FROM visits), u AS (SELECT user_id, COUNT(*) AS n FROM v GROUP BY user_id) SELECT AVG(n) FROM u;
SELECT COUNT(*) FROM visits WHERE user_id IN (SELECT user_id FROM (SELECT user_id, price + 1 AS p FROM orders) t);
SELECT COUNT(*) FROM visits WHERE user_id IN (SELECT user_id FROM (SELECT user_id, price + 1 AS p FROM orders) t WHERE p > 3);
SELECT COUNT(DISTINCT user_id) AS u FROM visits WHERE user_id IN (SELECT user_id FROM visits GROUP BY user_id HAVING SUM(spent) > 100);
SELECT region, SUM(spent) AS u FROM visits WHERE user_id IN (SELECT user_id FROM visits GROUP BY user_id HAVING COUNT(*) >= 2) GROUP BY region;
SELECT region, SUM(spent) AS u FROM visits WHERE user_id NOT IN (SELECT user_id FROM orders WHERE product = 'book' GROUP BY user_id HAVING SUM(price) > 30 AND MAX(quantity) >= 2) GROUP BY region;
WITH big AS (SELECT user_id, SUM(price) AS total, COUNT(*) AS n FROM orders GROUP BY user_id) SELECT kind, COUNT(*) FROM visits WHERE user_id IN (SELECT user_id FROM big WHERE total > 50 OR n > 1) GROUP BY kind;
WITH big AS (SELECT user_id FROM orders GROUP BY user_id HAVING AVG(price) > 50) SELECT kind, COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM big b WHERE b.user_id = v.user_id) AND paid GROUP BY kind;
WITH big AS (SELECT user_id, MAX(day) AS last FROM visits GROUP BY user_id HAVING MAX(day) >= '2024-11-01') SELECT COUNT(*) FROM visits WHERE user_id IN (SELECT user_id FROM big) AND day < '2024-06-01';
SELECT AVG(n) FROM (SELECT user_id, COUNT(*) AS n FROM visits WHERE user_id IN (SELECT user_id FROM orders GROUP BY user_id HAVING COUNT(*) > 1) GROUP BY user_id) t;
SELECT COUNT(*) FROM visits WHERE user_id IN (SELECT user_id FROM visits GROUP BY user_id);
SELECT COUNT(*) FROM visits WHERE user_id IN (SELECT user_id FROM visits GROUP BY user_id HAVING COUNT(DISTINCT kind) > 1) OR spent > 150;
SELECT COUNT(*) FROM visits WHERE user_id IN (SELECT DISTINCT user_id FROM orders);
-- refused: a subquery in a condition: it groups by more than the unit, or joins tables
SELECT COUNT(*) FROM visits WHERE user_id IN (SELECT user_id FROM visits GROUP BY user_id, region HAVING COUNT(*) > 1);
-- refused: a subquery in a condition: it must compare user_id, and that once
SELECT COUNT(*) FROM visits WHERE user_id IN (SELECT COUNT(*) FROM visits GROUP BY user_id HAVING COUNT(*) > 1);
-- refused: a subquery in a condition: it groups rows by something else than the unit
SELECT COUNT(*) FROM visits WHERE region IN (SELECT region FROM visits GROUP BY region HAVING COUNT(*) > 1);
SELECT COUNT(*) FROM visits SEMI JOIN (SELECT user_id FROM visits GROUP BY user_id HAVING COUNT(*) > 1) m USING (user_id);
WITH loyal AS (SELECT user_id FROM visits GROUP BY user_id HAVING COUNT(*) >= 3) SELECT COUNT(*) FROM orders o LEFT JOIN loyal l ON o.user_id = l.user_id WHERE l.user_id IS NULL;
WITH vip AS (SELECT user_id FROM orders GROUP BY user_id HAVING SUM(price) > 50) SELECT v.region, COUNT(*) FROM visits v JOIN vip ON v.user_id = vip.user_id GROUP BY v.region;
WITH vip AS (SELECT user_id, SUM(price) AS s FROM orders GROUP BY 1) SELECT v.region, COUNT(*) FROM visits v JOIN vip USING (user_id) GROUP BY v.region;
WITH vip AS (SELECT user_id, SUM(price) AS s FROM orders GROUP BY 1) SELECT v.region, COUNT(*) FROM visits v JOIN vip ON vip.user_id = v.user_id AND vip.s > 20 GROUP BY v.region;
WITH vip AS (SELECT user_id, SUM(price) AS s FROM orders GROUP BY 1) SELECT v.region, COUNT(*) FROM visits v JOIN vip ON vip.user_id = v.user_id WHERE vip.s > 20 GROUP BY v.region;
SELECT COUNT(*) FROM visits v JOIN (SELECT DISTINCT user_id FROM orders WHERE product = 'toy') t ON t.user_id = v.user_id;

-- bigquery
WITH tot AS (SELECT count(*) AS c FROM visits) SELECT region, count(*) / any_value(c) FROM visits, tot GROUP BY region;
WITH tot AS (SELECT count(*) AS c, sum(spent) AS s FROM visits WHERE paid) SELECT region, count(*) / tot.c AS a, sum(spent) / MAX(tot.s) AS b FROM visits CROSS JOIN tot GROUP BY region, tot.c;
SELECT region, avg(spent) - t.m AS d FROM visits v CROSS JOIN (SELECT avg(spent) AS m FROM visits) t GROUP BY region, t.m HAVING avg(spent) > t.m;
-- refused: a subquery in an expression: its answer would be exact
SELECT count(*) FROM visits v CROSS JOIN (SELECT avg(spent) AS m FROM visits) t WHERE v.spent > t.m;
SELECT size(collect_set(user_id)) FROM visits;
-- refused: function ARRAY_LENGTH: it is not known here
SELECT region, array_length(array_agg(DISTINCT kind)) FROM visits GROUP BY region;
WITH a AS (SELECT region, SUM(spent) AS s FROM visits GROUP BY region), b AS (SELECT SUM(spent) AS total FROM visits) SELECT region, s / total FROM a CROSS JOIN b;
WITH a AS (SELECT region, SUM(spent) AS s FROM visits GROUP BY region), b AS (SELECT SUM(spent) AS total FROM visits WHERE paid) SELECT a.region, a.s / b.total AS share FROM a, b WHERE a.s > 10 ORDER BY share DESC;
WITH a AS (SELECT region, SUM(spent) AS s FROM visits GROUP BY region) SELECT region, s / (SELECT SUM(s) FROM a) AS share FROM a;
SELECT region, s / (SELECT SUM(spent) FROM visits) AS share FROM (SELECT region, SUM(spent) AS s FROM visits GROUP BY region) t;
WITH a AS (SELECT region, SUM(spent) AS s FROM visits GROUP BY region) SELECT region, s - (SELECT AVG(s) FROM a) AS d FROM a;

-- spark
SELECT v.region, count(o.user_id) FROM visits v LEFT JOIN orders o ON o.user_id = v.user_id GROUP BY v.region;
SELECT count(*), count(o.price), sum(o.price), sum(v.spent) FROM visits v LEFT JOIN orders o ON o.user_id = v.user_id;
SELECT count(*) FROM visits v LEFT JOIN orders o USING (user_id) WHERE o.price IS NULL OR o.price > 20;
SELECT o.product, count(*), avg(v.age) FROM visits v LEFT JOIN orders o ON v.user_id = o.user_id GROUP BY o.product;
SELECT COALESCE(o.product, 'none') AS p, count(DISTINCT v.user_id) FROM visits v LEFT JOIN orders o ON v.user_id = o.user_id GROUP BY 1;
SELECT avg(t) FROM (SELECT v.user_id, SUM(COALESCE(o.price, 0)) AS t FROM visits v LEFT JOIN orders o ON v.user_id = o.user_id GROUP BY v.user_id) x;
SELECT count(DISTINCT o.user_id) * 1.0 / count(DISTINCT v.user_id) AS conversion FROM visits v LEFT JOIN orders o ON v.user_id = o.user_id;
-- refused: ON: joins are on one key; of an inner JOIN what stands beside it by AND is read as in WHERE
SELECT v.region, count(DISTINCT o.user_id) FROM visits v LEFT JOIN orders o ON v.user_id = o.user_id AND o.product = 'book' GROUP BY v.region;
SELECT v.region, r.state, count(o.product) FROM visits v LEFT JOIN regions r ON v.region = r.region LEFT JOIN orders o ON o.user_id = v.user_id GROUP BY 1, 2;
SELECT v.region, COUNT(DISTINCT o.user_id) FILTER (WHERE o.product = 'book') AS b, COUNT(DISTINCT CASE WHEN o.product = 'book' THEN v.user_id END) AS c FROM visits v LEFT JOIN orders o ON v.user_id = o.user_id GROUP BY v.region;
SELECT v.region, COUNT(DISTINCT o.user_id) AS b FROM visits v LEFT JOIN orders o ON v.user_id = o.user_id GROUP BY v.region;
SELECT COUNT(*) FROM visits v LEFT JOIN orders o ON v.user_id = o.user_id WHERE o.user_id IS NOT NULL AND v.paid;
SELECT COUNT(*) FROM visits v LEFT JOIN orders o ON v.user_id = o.user_id WHERE o.user_id IS NULL OR v.paid;
SELECT CASE WHEN o.user_id IS NULL THEN 'no' ELSE 'yes' END AS buyer, AVG(v.spent) FROM visits v LEFT JOIN orders o ON v.user_id = o.user_id GROUP BY 1;
SELECT AVG(n) FROM (SELECT v.user_id, COUNT(o.user_id) AS n FROM visits v LEFT JOIN orders o ON v.user_id = o.user_id GROUP BY v.user_id) t;
