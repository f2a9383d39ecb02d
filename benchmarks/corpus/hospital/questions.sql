-- # k1: patients born in a year
SELECT COUNT(*) AS total_patients FROM patients WHERE YEAR(birth_date) = 1980;

-- # k2: unique birth years
SELECT DISTINCT YEAR(birth_date) AS birth_year FROM patients ORDER BY birth_year;
-- truth
SELECT DISTINCT YEAR(birth_date) AS birth_year FROM patients ORDER BY birth_year;

-- # k3: first names that occur once
SELECT COUNT(*) AS n FROM (SELECT first_name FROM patients GROUP BY first_name HAVING COUNT(first_name) = 1) q;

-- # k4: men and women side by side
SELECT (SELECT count(*) FROM patients WHERE gender='M') AS male_count, (SELECT count(*) FROM patients WHERE gender='F') AS female_count;

-- # k5: allergies by frequency
SELECT allergies, COUNT(*) AS total_diagnosis FROM patients WHERE allergies IS NOT NULL GROUP BY allergies ORDER BY total_diagnosis DESC;

-- # k6: provinces with more men
SELECT pr.province_name FROM patients AS pa JOIN provinces AS pr ON pa.province_id = pr.province_id GROUP BY pr.province_name HAVING SUM(CASE WHEN gender = 'M' THEN 1 ELSE 0 END) > SUM(CASE WHEN gender = 'F' THEN 1 ELSE 0 END) ORDER BY 1;

-- # k7: weight groups
SELECT COUNT(*) AS patients_in_group, FLOOR(weight / 10) * 10 AS weight_group FROM patients WHERE weight < 120 GROUP BY weight_group ORDER BY weight_group DESC;

-- # k8: obesity
SELECT CASE WHEN weight / POWER(height / 100.0, 2) >= 30 THEN 1 ELSE 0 END AS is_obese, COUNT(*) AS n FROM patients GROUP BY 1 ORDER BY 1;

-- # k9: admissions of a day and change
SELECT admission_date, count(admission_date) AS admissions, count(admission_date) - LAG(count(admission_date)) OVER(ORDER BY admission_date) AS admission_count_change FROM admissions WHERE admission_date < DATE '2018-02-01' GROUP BY admission_date ORDER BY 1;

-- # k10: each doctor's admissions with names
SELECT d.last_name, d.specialty, COUNT(*) AS n FROM admissions a JOIN doctors d ON d.doctor_id = a.attending_doctor_id GROUP BY d.last_name, d.specialty ORDER BY n DESC, 1;

-- # k11: first and last admissions of each doctor
-- within 40
SELECT d.last_name, MIN(admission_date) AS first, MAX(admission_date) AS last FROM admissions a JOIN doctors d ON a.attending_doctor_id = d.doctor_id GROUP BY d.last_name ORDER BY 1;

-- # k12: length of stay
SELECT diagnosis, AVG(date_diff('day', admission_date, discharge_date)) AS los, COUNT(*) AS n FROM admissions GROUP BY diagnosis ORDER BY diagnosis;

-- # k13: readmissions within thirty days
SELECT COUNT(*) AS readmissions FROM (SELECT admission_date, LAG(discharge_date) OVER (PARTITION BY patient_id ORDER BY admission_date) AS before FROM admissions) q WHERE admission_date - before <= 30;

-- # k14: never admitted
SELECT COUNT(*) AS n FROM patients WHERE patient_id NOT IN (SELECT patient_id FROM admissions);

-- # k15: patients admitted more than once for the same
SELECT COUNT(*) AS n FROM (SELECT patient_id, diagnosis FROM admissions GROUP BY patient_id, diagnosis HAVING COUNT(*) > 1) q;

-- # k16: age at admission by decade
SELECT date_diff('year', p.birth_date, a.admission_date) // 10 * 10 AS decade, COUNT(*) AS n FROM patients p JOIN admissions a ON a.patient_id = p.patient_id GROUP BY decade HAVING COUNT(*) > 0.5 ORDER BY decade;

-- # k17: a column of names with totals
SELECT CONCAT(province_id, '/', gender) AS who, COUNT(*) AS n FROM patients GROUP BY who HAVING COUNT(*) > 0.5 ORDER BY who;

-- # k18: show the oldest patient
-- no answer rows
SELECT first_name, last_name, birth_date FROM patients ORDER BY birth_date LIMIT 1;

-- # k19: the cost of patients with insurance (even ids)
SELECT CASE WHEN patient_id % 2 = 0 THEN 'Yes' ELSE 'No' END AS has_insurance, SUM(CASE WHEN patient_id % 2 = 0 THEN 10 ELSE 50 END) AS cost FROM admissions GROUP BY has_insurance ORDER BY 1;

-- # k20: percent of men
SELECT CONCAT(ROUND(SUM(gender = 'M') / COUNT(*) * 100, 2), '%') AS percent FROM patients;

-- # k21: province names sorted with one first
SELECT province_name, COUNT(p.patient_id) AS n FROM provinces LEFT JOIN patients p USING (province_id) GROUP BY province_name ORDER BY (CASE WHEN province_name = 'Ontario' THEN 0 ELSE 1 END), province_name;

-- # k22: above the mean weight of their gender
SELECT COUNT(*) AS n FROM patients p JOIN (SELECT gender, AVG(weight) AS w FROM patients GROUP BY gender) g ON p.gender = g.gender AND p.weight > g.w;

-- # k23: diagnosis by allergy cross table
SELECT a.diagnosis, COUNT(*) FILTER (WHERE p.allergies = 'Nuts') AS nuts, COUNT(*) FILTER (WHERE p.allergies IS NULL) AS none FROM admissions a JOIN patients p USING (patient_id) GROUP BY a.diagnosis ORDER BY 1;

-- # k24: cost per day of stay
SELECT diagnosis, SUM(cost) / SUM(date_diff('day', admission_date, discharge_date) + 1) AS per_day FROM admissions GROUP BY diagnosis ORDER BY 1;

-- # k25: total cost of each patient, quartiles
-- within 300
SELECT QUANTILE_CONT(total, 0.25) AS q1, QUANTILE_CONT(total, 0.5) AS q2, QUANTILE_CONT(total, 0.75) AS q3 FROM (SELECT patient_id, SUM(cost) AS total FROM admissions GROUP BY patient_id) q;

-- # k26: weekend admissions
SELECT CASE WHEN dayofweek(admission_date) IN (0, 6) THEN 'weekend' ELSE 'weekday' END AS w, COUNT(*) AS n FROM admissions GROUP BY w ORDER BY w;

-- # k27: occupancy by day
-- max_rows 35
SELECT d::DATE AS day, COUNT(a.patient_id) AS beds FROM generate_series(DATE '2018-06-01', DATE '2018-06-07', INTERVAL 1 DAY) AS g(d) LEFT JOIN admissions a ON a.admission_date <= g.d AND a.discharge_date > g.d GROUP BY 1 ORDER BY 1;

-- # k28: patients of one doctor only
SELECT COUNT(*) AS n FROM (SELECT patient_id FROM admissions GROUP BY patient_id HAVING COUNT(DISTINCT attending_doctor_id) = 1) q;

-- # k29: all combinations
SELECT p.province_name, d.specialty, COUNT(a.patient_id) AS n FROM provinces p CROSS JOIN (SELECT DISTINCT specialty FROM doctors) d LEFT JOIN (SELECT patient_id, province_id, specialty FROM patients JOIN admissions USING (patient_id) JOIN doctors ON doctor_id = attending_doctor_id) a ON a.province_id = p.province_id AND a.specialty = d.specialty GROUP BY 1, 2 ORDER BY 1, 2;

-- # k30: correlation of age and weight
SELECT CORR(weight, date_diff('year', birth_date, DATE '2020-01-01')) AS r FROM patients;

-- # bq 1: counts with a price in the text
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1000, delta = 1e-7, privacy_unit_column = patient_id) diagnosis, COUNT(*) AS n FROM admissions GROUP BY diagnosis ORDER BY diagnosis;
-- truth
SELECT diagnosis, COUNT(*) AS n FROM admissions GROUP BY diagnosis ORDER BY diagnosis;

-- # bq 2: an average with bounds in the call
-- no answer failing
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1000, max_groups_contributed = 4) diagnosis, AVG(cost, contribution_bounds_per_row => (0, 20000)) AS c FROM admissions GROUP BY diagnosis ORDER BY diagnosis;

-- # bq 3: sums of groups
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1000) diagnosis, SUM(cost) AS c, COUNT(DISTINCT patient_id) AS people FROM admissions GROUP BY diagnosis ORDER BY diagnosis;
-- truth
SELECT diagnosis, SUM(cost) AS c, COUNT(DISTINCT patient_id) AS people FROM admissions GROUP BY diagnosis ORDER BY diagnosis;

-- # bq 4: anonymised words of before
-- no answer failing
SELECT ANON_COUNT(*) AS n FROM admissions;
-- instead
SELECT COUNT(*) AS n FROM admissions;

-- # bq 5: percentile in the words of GoogleSQL
-- within 100
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1000) PERCENTILE_CONT(cost, 0.5) AS m FROM admissions;
-- truth
SELECT QUANTILE_CONT(cost, 0.5) AS m FROM admissions;

-- # bq 6: public groups joined from the right
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1000) d.doctor_id, COUNT(a.patient_id) AS n FROM admissions a RIGHT JOIN (SELECT doctor_id FROM doctors) d ON a.attending_doctor_id = d.doctor_id GROUP BY d.doctor_id ORDER BY 1;
-- truth
SELECT d.doctor_id, COUNT(a.patient_id) AS n FROM admissions a RIGHT JOIN (SELECT doctor_id FROM doctors) d ON a.attending_doctor_id = d.doctor_id GROUP BY d.doctor_id ORDER BY 1;

-- # sn 1: counts by two keys
SELECT gender, province_id, COUNT(*) AS n, AVG(weight) AS w FROM patients GROUP BY gender, province_id ORDER BY gender, province_id;

-- # sn 2: with a schema's name
SELECT p.gender, COUNT(*) AS n FROM main.patients AS p GROUP BY p.gender ORDER BY n DESC;

-- # sn 3: variance and standard deviation
SELECT VARIANCE(weight) AS v, STDDEV(weight) AS s, COUNT(weight) AS n FROM patients;

-- # sn 4: clamps in the text
SELECT SUM(CASE WHEN weight < 50 THEN 50 WHEN weight > 100 THEN 100 ELSE weight END) AS s FROM patients;

-- # tm 1: groups of an age
SELECT CASE WHEN date_diff('year', birth_date, DATE '2019-01-01') < 18 THEN 'minor' ELSE 'adult' END AS what, COUNT(*) AS n FROM patients GROUP BY what ORDER BY what;

-- # tm 2: nested, averages of each patient's costs
SELECT AVG(m) AS m FROM (SELECT patient_id, AVG(cost) AS m FROM admissions GROUP BY patient_id) q;

-- # tm 3: a histogram of stays
SELECT date_diff('day', admission_date, discharge_date) // 3 * 3 AS days, COUNT(*) AS n FROM admissions GROUP BY days HAVING COUNT(*) > 0.5 ORDER BY days;

-- # od 1: a query of a published frame
-- within 700
SELECT diagnosis, QUANTILE_CONT(cost, [0.25, 0.5, 0.75]) AS q FROM admissions GROUP BY diagnosis ORDER BY diagnosis;
-- truth
SELECT diagnosis, QUANTILE_CONT(cost, [0.25, 0.5, 0.75]) AS q FROM admissions GROUP BY diagnosis ORDER BY diagnosis;

-- # od 2: null share
SELECT AVG(CASE WHEN cost IS NULL THEN 1 ELSE 0 END) AS missing FROM admissions;

-- # pc 1: groups found
-- delta 1/100000
SELECT first_name, COUNT(*) AS n FROM patients GROUP BY first_name ORDER BY first_name;
