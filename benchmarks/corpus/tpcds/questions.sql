-- # q1: customers who returned more than 1.2 times the store's mean
with customer_total_return as (select sr_customer_sk as ctr_customer_sk, sr_store_sk as ctr_store_sk, sum(sr_return_amt) as ctr_total_return from store_returns, date_dim where sr_returned_date_sk = d_date_sk and d_year = 1998 group by sr_customer_sk, sr_store_sk)
select count(distinct c_customer_sk) as n from customer_total_return ctr1, store, customer where ctr1.ctr_total_return > (select avg(ctr_total_return)*1.2 from customer_total_return ctr2 where ctr1.ctr_store_sk = ctr2.ctr_store_sk) and s_store_sk = ctr1.ctr_store_sk and s_state = 'TN' and ctr1.ctr_customer_sk = c_customer_sk;

-- # q3: brands of a manufacturer in November
select dt.d_year, item.i_brand_id brand_id, item.i_brand brand, sum(ss_ext_sales_price) sum_agg from date_dim dt, store_sales, item where dt.d_date_sk = store_sales.ss_sold_date_sk and store_sales.ss_item_sk = item.i_item_sk and item.i_manufact_id = 2 and dt.d_moy = 11 group by dt.d_year, item.i_brand, item.i_brand_id order by dt.d_year, sum_agg desc, brand_id limit 100;

-- # q6: states with customers who bought dear items
select a.ca_state state, count(*) cnt from customer_address a, customer c, store_sales s, date_dim d, item i where a.ca_address_sk = c.c_current_addr_sk and c.c_customer_sk = s.ss_customer_sk and s.ss_sold_date_sk = d.d_date_sk and s.ss_item_sk = i.i_item_sk and d.d_month_seq = (select distinct (d_month_seq) from date_dim where d_year = 1998 and d_moy = 3) and i.i_current_price > 1.2 * (select avg(j.i_current_price) from item j where j.i_category = i.i_category) group by a.ca_state having count(*) >= 3 order by cnt, a.ca_state limit 100;

-- # q7: mean sales by item of single college men
select i_item_id, avg(ss_quantity) agg1, avg(ss_list_price) agg2, avg(ss_coupon_amt) agg3, avg(ss_sales_price) agg4 from store_sales, customer_demographics, date_dim, item, promotion where ss_sold_date_sk = d_date_sk and ss_item_sk = i_item_sk and ss_cdemo_sk = cd_demo_sk and ss_promo_sk = p_promo_sk and cd_gender = 'M' and cd_marital_status = 'S' and cd_education_status = 'College' and (p_channel_email = 'N' or p_channel_event = 'N') and d_year = 1998 group by i_item_id order by i_item_id limit 100;

-- # q9: buckets of quantity, the mean of one thing or the other
select case when (select count(*) from store_sales where ss_quantity between 1 and 20) > 800 then (select avg(ss_ext_sales_price) from store_sales where ss_quantity between 1 and 20) else (select avg(ss_net_profit) from store_sales where ss_quantity between 1 and 20) end bucket1, case when (select count(*) from store_sales where ss_quantity between 21 and 40) > 8000 then (select avg(ss_ext_sales_price) from store_sales where ss_quantity between 21 and 40) else (select avg(ss_net_profit) from store_sales where ss_quantity between 21 and 40) end bucket2 from reason where r_reason_sk = 1;

-- # q13: means under alternatives
select avg(ss_quantity), avg(ss_ext_sales_price), sum(ss_coupon_amt) from store_sales, store, customer_demographics, household_demographics, customer_address, date_dim where s_store_sk = ss_store_sk and ss_sold_date_sk = d_date_sk and d_year = 1999 and ((ss_hdemo_sk = hd_demo_sk and cd_demo_sk = ss_cdemo_sk and cd_marital_status = 'M' and cd_education_status = 'College' and ss_sales_price between 0.0 and 150.0 and hd_dep_count = 3) or (ss_hdemo_sk = hd_demo_sk and cd_demo_sk = ss_cdemo_sk and cd_marital_status = 'S' and cd_education_status = 'Primary' and ss_sales_price between 50.0 and 200.0 and hd_dep_count = 1)) and ((ss_addr_sk = ca_address_sk and ca_country = 'United States' and ca_state in ('TX', 'TN', 'KY') and ss_net_profit between -5000 and 2000) or (ss_addr_sk = ca_address_sk and ca_country = 'United States' and ca_state in ('GA', 'IN', 'SD') and ss_net_profit between -1000 and 3000));

-- # q14: items sold by both channels
with cross_items as (select ss_item_sk from store_sales intersect select ws_item_sk from web_sales) select count(*) as n from cross_items;

-- # q19: brands bought by people from another zip code than the store
select i_brand_id brand_id, i_brand brand, i_manufact_id, sum(ss_ext_sales_price) ext_price from date_dim, store_sales, item, customer, customer_address, store where d_date_sk = ss_sold_date_sk and ss_item_sk = i_item_sk and i_manager_id = 3 and d_moy = 11 and d_year = 1998 and ss_customer_sk = c_customer_sk and c_current_addr_sk = ca_address_sk and substr(ca_zip,1,5) <> s_county and ss_store_sk = s_store_sk group by i_brand, i_brand_id, i_manufact_id order by ext_price desc, i_brand, i_brand_id limit 100;

-- # q25: what was bought in the store, returned, and bought on the web
select i_item_id, s_store_name, sum(ss_net_profit) as p, sum(sr_return_amt) as l from store_sales, store_returns, date_dim d1, store, item where d1.d_year = 1998 and d1.d_date_sk = ss_sold_date_sk and i_item_sk = ss_item_sk and s_store_sk = ss_store_sk and ss_customer_sk = sr_customer_sk and ss_item_sk = sr_item_sk and ss_ticket_number = sr_ticket_number group by i_item_id, s_store_name order by i_item_id, s_store_name;

-- # q26: rollup by item and state
select i_item_id, s_state, grouping(s_state) g_state, avg(ss_quantity) agg1, avg(ss_list_price) agg2 from store_sales, customer_demographics, date_dim, store, item where ss_sold_date_sk = d_date_sk and ss_item_sk = i_item_sk and ss_store_sk = s_store_sk and ss_cdemo_sk = cd_demo_sk and cd_gender = 'F' and d_year = 1999 and s_state in ('TN','SD') group by rollup (i_item_id, s_state) order by i_item_id, s_state limit 100;

-- # q28: distinct counts of prices in six boxes
select * from (select avg(ss_list_price) b1_lp, count(ss_list_price) b1_cnt, count(distinct ss_list_price) b1_cntd from store_sales where ss_quantity between 0 and 5 and (ss_list_price between 8 and 18 or ss_coupon_amt between 4 and 46)) b1, (select avg(ss_list_price) b2_lp, count(ss_list_price) b2_cnt, count(distinct ss_list_price) b2_cntd from store_sales where ss_quantity between 6 and 10 and ss_list_price between 90 and 190) b2 limit 100;

-- # q34: customers with many tickets
select count(*) as customers, avg(cnt) as tickets from (select ss_customer_sk, count(*) cnt from store_sales, date_dim, store, household_demographics where ss_sold_date_sk = d_date_sk and ss_store_sk = s_store_sk and ss_hdemo_sk = hd_demo_sk and (d_dom between 1 and 3 or d_dom between 25 and 28) and (hd_buy_potential = '>10000' or hd_buy_potential = 'unknown') and hd_vehicle_count > 0 and (case when hd_vehicle_count > 0 then hd_dep_count / hd_vehicle_count else null end) > 0.5 and d_year in (1998, 1999) group by ss_customer_sk) dn where cnt between 1 and 9;

-- # q36: margin by category and class, ranked in its parent
select sum(ss_net_profit)/sum(ss_ext_sales_price) as gross_margin, i_category, i_class, grouping(i_category)+grouping(i_class) as lochierarchy, rank() over (partition by grouping(i_category)+grouping(i_class), case when grouping(i_class) = 0 then i_category end order by sum(ss_net_profit)/sum(ss_ext_sales_price) asc) as rank_within_parent from store_sales, date_dim d1, item, store where d1.d_year = 1998 and d1.d_date_sk = ss_sold_date_sk and i_item_sk = ss_item_sk and s_store_sk = ss_store_sk and s_state in ('TN','SD') group by rollup(i_category,i_class) order by lochierarchy desc, case when lochierarchy = 0 then i_category end, rank_within_parent limit 100;

-- # q38: customers of both channels on the same day, counted
select count(*) as n from (select distinct c_last_name, c_customer_sk, d_date from store_sales, date_dim, customer where store_sales.ss_sold_date_sk = date_dim.d_date_sk and store_sales.ss_customer_sk = customer.c_customer_sk and d_month_seq between 1176 and 1176 + 11 intersect select distinct c_last_name, c_customer_sk, d_date from web_sales, date_dim, customer where web_sales.ws_sold_date_sk = date_dim.d_date_sk and web_sales.ws_bill_customer_sk = customer.c_customer_sk and d_month_seq between 1176 and 1176 + 11) hot_cust limit 100;

-- # q42: categories of a month
select dt.d_year, item.i_category, sum(ss_ext_sales_price) from date_dim dt, store_sales, item where dt.d_date_sk = store_sales.ss_sold_date_sk and store_sales.ss_item_sk = item.i_item_sk and item.i_manager_id = 1 and dt.d_moy = 11 and dt.d_year = 1999 group by dt.d_year, item.i_category order by sum(ss_ext_sales_price) desc, dt.d_year, item.i_category limit 100;

-- # q43: sales by day of the week
select s_store_name, s_store_sk, sum(case when (d_day_name='Sunday') then ss_sales_price else null end) sun_sales, sum(case when (d_day_name='Monday') then ss_sales_price else null end) mon_sales, sum(case when (d_day_name='Friday') then ss_sales_price else null end) fri_sales from date_dim, store_sales, store where d_date_sk = ss_sold_date_sk and s_store_sk = ss_store_sk and s_gmt_offset = -5 and d_year = 1998 group by s_store_name, s_store_sk order by s_store_name, s_store_sk, sun_sales, mon_sales limit 100;

-- # q44: best and worst items of a store
select asceding.rnk, i1.i_item_desc best_performing, i2.i_item_desc worst_performing from (select * from (select item_sk, rank() over (order by rank_col asc) rnk from (select ss_item_sk item_sk, avg(ss_net_profit) rank_col from store_sales ss1 where ss_store_sk = 4 group by ss_item_sk having avg(ss_net_profit) > 0.9 * (select avg(ss_net_profit) rank_col from store_sales where ss_store_sk = 4 and ss_addr_sk is not null group by ss_store_sk)) v1) v11 where rnk < 11) asceding, (select * from (select item_sk, rank() over (order by rank_col desc) rnk from (select ss_item_sk item_sk, avg(ss_net_profit) rank_col from store_sales ss1 where ss_store_sk = 4 group by ss_item_sk) v2) v21 where rnk < 11) descending, item i1, item i2 where asceding.rnk = descending.rnk and i1.i_item_sk = asceding.item_sk and i2.i_item_sk = descending.item_sk order by asceding.rnk limit 100;

-- # q47: months far from the mean of the year
with v1 as (select i_category, s_store_name, d_year, d_moy, sum(ss_sales_price) sum_sales, avg(sum(ss_sales_price)) over (partition by i_category, s_store_name, d_year) avg_monthly_sales, rank() over (partition by i_category, s_store_name order by d_year, d_moy) rn from item, store_sales, date_dim, store where ss_item_sk = i_item_sk and ss_sold_date_sk = d_date_sk and ss_store_sk = s_store_sk and (d_year = 1998 or (d_year = 1999 and d_moy = 1)) group by i_category, s_store_name, d_year, d_moy),
v2 as (select v1.i_category, v1.s_store_name, v1.d_year, v1.d_moy, v1.avg_monthly_sales, v1.sum_sales, v1_lag.sum_sales psum, v1_lead.sum_sales nsum from v1, v1 v1_lag, v1 v1_lead where v1.i_category = v1_lag.i_category and v1.i_category = v1_lead.i_category and v1.s_store_name = v1_lag.s_store_name and v1.s_store_name = v1_lead.s_store_name and v1.rn = v1_lag.rn + 1 and v1.rn = v1_lead.rn - 1)
select * from v2 where d_year = 1998 and avg_monthly_sales > 0 and case when avg_monthly_sales > 0 then abs(sum_sales - avg_monthly_sales) / avg_monthly_sales else null end > 0.1 order by sum_sales - avg_monthly_sales, 3 limit 100;

-- # q48: quantity under alternatives
select sum(ss_quantity) from store_sales, store, customer_demographics, customer_address, date_dim where s_store_sk = ss_store_sk and ss_sold_date_sk = d_date_sk and d_year = 1998 and ((cd_demo_sk = ss_cdemo_sk and cd_marital_status = 'M' and ss_sales_price between 100.00 and 150.00) or (cd_demo_sk = ss_cdemo_sk and cd_marital_status = 'D' and ss_sales_price between 50.00 and 100.00)) and ss_addr_sk = ca_address_sk and ca_state in ('TX','GA');

-- # q50: how long until things came back
select s_store_name, sum(case when (sr_returned_date_sk - ss_sold_date_sk <= 10) then 1 else 0 end) as d10, sum(case when (sr_returned_date_sk - ss_sold_date_sk > 10) and (sr_returned_date_sk - ss_sold_date_sk <= 20) then 1 else 0 end) as d20, sum(case when (sr_returned_date_sk - ss_sold_date_sk > 20) then 1 else 0 end) as dmore from store_sales, store_returns, store, date_dim d2 where d2.d_year = 1998 and d2.d_moy = 8 and ss_ticket_number = sr_ticket_number and ss_item_sk = sr_item_sk and sr_returned_date_sk = d2.d_date_sk and ss_customer_sk = sr_customer_sk and ss_store_sk = s_store_sk group by s_store_name order by s_store_name limit 100;

-- # q52: brands of a month
select dt.d_year, item.i_brand_id brand_id, item.i_brand brand, sum(ss_ext_sales_price) ext_price from date_dim dt, store_sales, item where dt.d_date_sk = store_sales.ss_sold_date_sk and store_sales.ss_item_sk = item.i_item_sk and item.i_manager_id = 1 and dt.d_moy = 12 and dt.d_year = 1998 group by dt.d_year, item.i_brand, item.i_brand_id order by dt.d_year, ext_price desc, brand_id limit 100;

-- # q53: manufacturers whose quarters differ from the mean
select * from (select i_manufact_id, sum(ss_sales_price) sum_sales, avg(sum(ss_sales_price)) over (partition by i_manufact_id) avg_quarterly_sales from item, store_sales, date_dim, store where ss_item_sk = i_item_sk and ss_sold_date_sk = d_date_sk and ss_store_sk = s_store_sk and d_month_seq in (1176,1176+1,1176+2,1176+3,1176+4,1176+5,1176+6,1176+7,1176+8,1176+9,1176+10,1176+11) and ((i_category in ('Books','Children') and i_class in ('class0','class3')) or (i_category in ('Women','Music') and i_class in ('class1','class4'))) group by i_manufact_id, d_qoy) tmp1 where case when avg_quarterly_sales > 0 then abs(sum_sales - avg_quarterly_sales) / avg_quarterly_sales else null end > 0.05 order by avg_quarterly_sales, sum_sales, i_manufact_id limit 100;

-- # q55: brands of one manager
select i_brand_id brand_id, i_brand brand, sum(ss_ext_sales_price) ext_price from date_dim, store_sales, item where d_date_sk = ss_sold_date_sk and ss_item_sk = i_item_sk and i_manager_id = 5 and d_moy = 11 and d_year = 1999 group by i_brand, i_brand_id order by ext_price desc, brand_id limit 100;

-- # q61: the share of sales with a promotion
select promotions, total, cast(promotions as decimal(15,4))/cast(total as decimal(15,4))*100 as percent from (select sum(ss_ext_sales_price) promotions from store_sales, store, promotion, date_dim, customer, customer_address, item where ss_sold_date_sk = d_date_sk and ss_store_sk = s_store_sk and ss_promo_sk = p_promo_sk and ss_customer_sk = c_customer_sk and ca_address_sk = c_current_addr_sk and ss_item_sk = i_item_sk and ca_gmt_offset = -5 and i_category = 'Books' and (p_channel_email = 'Y' or p_channel_event = 'Y') and s_gmt_offset = -5 and d_year = 1998) promotional_sales, (select sum(ss_ext_sales_price) total from store_sales, store, date_dim, customer, customer_address, item where ss_sold_date_sk = d_date_sk and ss_store_sk = s_store_sk and ss_customer_sk = c_customer_sk and ca_address_sk = c_current_addr_sk and ss_item_sk = i_item_sk and ca_gmt_offset = -5 and i_category = 'Books' and s_gmt_offset = -5 and d_year = 1998) all_sales order by promotions, total limit 100;

-- # q65: items that sell far below their store's mean
select s_store_name, i_item_desc, sc.revenue from store, item, (select ss_store_sk, avg(revenue) as ave from (select ss_store_sk, ss_item_sk, sum(ss_sales_price) as revenue from store_sales, date_dim where ss_sold_date_sk = d_date_sk and d_month_seq between 1176 and 1176+11 group by ss_store_sk, ss_item_sk) sa group by ss_store_sk) sb, (select ss_store_sk, ss_item_sk, sum(ss_sales_price) as revenue from store_sales, date_dim where ss_sold_date_sk = d_date_sk and d_month_seq between 1176 and 1176+11 group by ss_store_sk, ss_item_sk) sc where sb.ss_store_sk = sc.ss_store_sk and sc.revenue <= 0.8 * sb.ave and s_store_sk = sc.ss_store_sk and i_item_sk = sc.ss_item_sk order by s_store_name, i_item_desc, sc.revenue limit 100;

-- # q69: customers of the store but not of the web, by demography
select cd_gender, cd_marital_status, count(*) cnt1 from customer c, customer_address ca, customer_demographics where c.c_current_addr_sk = ca.ca_address_sk and ca_state in ('TN','GA','TX') and cd_demo_sk = c.c_current_cdemo_sk and exists (select * from store_sales, date_dim where c.c_customer_sk = ss_customer_sk and ss_sold_date_sk = d_date_sk and d_year = 1998 and d_moy between 1 and 3) and (not exists (select * from web_sales, date_dim where c.c_customer_sk = ws_bill_customer_sk and ws_sold_date_sk = d_date_sk and d_year = 1998 and d_moy between 1 and 3)) group by cd_gender, cd_marital_status order by cd_gender, cd_marital_status limit 100;

-- # q10: customers of one channel or another
select cd_gender, count(*) cnt1 from customer c, customer_address ca, customer_demographics where c.c_current_addr_sk = ca.ca_address_sk and ca_county in ('county 1','county 2') and cd_demo_sk = c.c_current_cdemo_sk and exists (select * from store_sales, date_dim where c.c_customer_sk = ss_customer_sk and ss_sold_date_sk = d_date_sk and d_year = 1998) and (exists (select * from web_sales, date_dim where c.c_customer_sk = ws_bill_customer_sk and ws_sold_date_sk = d_date_sk and d_year = 1999) or c_preferred_cust_flag = 'Y') group by cd_gender order by cd_gender;

-- # q73: tickets of customers, counted by number
select cnt, count(*) as customers from (select ss_customer_sk, count(*) cnt from store_sales, date_dim where ss_sold_date_sk = d_date_sk and d_year = 1998 group by ss_customer_sk) dj where cnt between 1 and 5 group by cnt order by cnt;

-- # q79: profit by city of the store, of one weekday
select s_city, avg(amt) as amt, avg(profit) as profit from (select ss_customer_sk, s_city, sum(ss_coupon_amt) amt, sum(ss_net_profit) profit from store_sales, date_dim, store, household_demographics where ss_sold_date_sk = d_date_sk and ss_store_sk = s_store_sk and ss_hdemo_sk = hd_demo_sk and (hd_dep_count = 6 or hd_vehicle_count > 2) and d_day_name = 'Monday' and d_year in (1998, 1999) and s_number_employees between 200 and 295 group by ss_customer_sk, s_city) ms group by s_city;

-- # q87: customers of the store but not of the web
select count(*) as n from ((select distinct c_customer_sk, d_date from store_sales, date_dim, customer where store_sales.ss_sold_date_sk = date_dim.d_date_sk and store_sales.ss_customer_sk = customer.c_customer_sk and d_month_seq between 1176 and 1176+11) except (select distinct c_customer_sk, d_date from web_sales, date_dim, customer where web_sales.ws_sold_date_sk = date_dim.d_date_sk and web_sales.ws_bill_customer_sk = customer.c_customer_sk and d_month_seq between 1176 and 1176+11)) cool_cust;

-- # q88: sales by half hours, side by side
select * from (select count(*) h8 from store_sales, household_demographics, time_dim, store where ss_sold_time_sk = t_time_sk and ss_hdemo_sk = hd_demo_sk and ss_store_sk = s_store_sk and t_hour = 8 and ((hd_dep_count = 4 and hd_vehicle_count <= 6) or (hd_dep_count = 2 and hd_vehicle_count <= 4)) and s_store_name = 'store 0') s1, (select count(*) h9 from store_sales, household_demographics, time_dim, store where ss_sold_time_sk = t_time_sk and ss_hdemo_sk = hd_demo_sk and ss_store_sk = s_store_sk and t_hour = 9 and s_store_name = 'store 0') s2;

-- # q89: classes whose months differ
select * from (select i_category, i_class, d_moy, sum(ss_sales_price) sum_sales, avg(sum(ss_sales_price)) over (partition by i_category) avg_monthly_sales from item, store_sales, date_dim, store where ss_item_sk = i_item_sk and ss_sold_date_sk = d_date_sk and ss_store_sk = s_store_sk and d_year in (1999) and i_category in ('Books','Music') group by i_category, i_class, d_moy) tmp1 where case when (avg_monthly_sales <> 0) then (abs(sum_sales - avg_monthly_sales) / avg_monthly_sales) else null end > 0.1 order by sum_sales - avg_monthly_sales, i_class limit 100;

-- # q90: morning to evening
select cast(amc as double) / nullif(pmc, 0) am_pm_ratio from (select count(*) amc from store_sales, time_dim where ss_sold_time_sk = time_dim.t_time_sk and t_hour between 8 and 9) at1, (select count(*) pmc from store_sales, time_dim where ss_sold_time_sk = time_dim.t_time_sk and t_hour between 19 and 20) pt order by am_pm_ratio limit 100;

-- # q93: sales after what was returned
select avg(act_sales) as sumsales from (select ss_customer_sk, sum(case when sr_return_quantity is not null then (ss_quantity - sr_return_quantity) * ss_sales_price else (ss_quantity * ss_sales_price) end) act_sales from store_sales left outer join store_returns on (sr_item_sk = ss_item_sk and sr_ticket_number = ss_ticket_number and sr_customer_sk = ss_customer_sk) group by ss_customer_sk) t;

-- # q96: how many at eight
select count(*) as cnt from store_sales, household_demographics, time_dim, store where ss_sold_time_sk = time_dim.t_time_sk and ss_hdemo_sk = household_demographics.hd_demo_sk and ss_store_sk = s_store_sk and time_dim.t_hour = 8 and household_demographics.hd_dep_count = 5 and store.s_store_name = 'store 1' order by count(*) limit 100;

-- # q97: customers and items of either channel and of both
with ssci as (select ss_customer_sk customer_sk, ss_item_sk item_sk from store_sales, date_dim where ss_sold_date_sk = d_date_sk and d_month_seq between 1176 and 1187 group by ss_customer_sk, ss_item_sk), wsci as (select ws_bill_customer_sk customer_sk, ws_item_sk item_sk from web_sales, date_dim where ws_sold_date_sk = d_date_sk and d_month_seq between 1176 and 1187 group by ws_bill_customer_sk, ws_item_sk)
select sum(case when ssci.customer_sk is not null and wsci.customer_sk is null then 1 else 0 end) store_only, sum(case when ssci.customer_sk is null and wsci.customer_sk is not null then 1 else 0 end) web_only, sum(case when ssci.customer_sk is not null and wsci.customer_sk is not null then 1 else 0 end) store_and_web from ssci full outer join wsci on (ssci.customer_sk = wsci.customer_sk and ssci.item_sk = wsci.item_sk) limit 100;

-- # q98: the share of each item in its class
select i_item_desc, i_category, i_class, i_current_price, sum(ss_ext_sales_price) as itemrevenue, sum(ss_ext_sales_price)*100/sum(sum(ss_ext_sales_price)) over (partition by i_class) as revenueratio from store_sales, item, date_dim where ss_item_sk = i_item_sk and i_category in ('Books','Sports') and ss_sold_date_sk = d_date_sk and d_date between cast('1998-02-22' as date) and (cast('1998-02-22' as date) + interval 30 day) group by i_item_id, i_item_desc, i_category, i_class, i_current_price order by i_category, i_class, i_item_id, i_item_desc, revenueratio;

-- # q33: manufacturers over both channels
with ss as (select i_manufact_id, sum(ss_ext_sales_price) total_sales from store_sales, date_dim, item where i_manufact_id in (select i_manufact_id from item where i_category in ('Books')) and ss_item_sk = i_item_sk and ss_sold_date_sk = d_date_sk and d_year = 1998 group by i_manufact_id), ws as (select i_manufact_id, sum(ws_ext_sales_price) total_sales from web_sales, date_dim, item where i_manufact_id in (select i_manufact_id from item where i_category in ('Books')) and ws_item_sk = i_item_sk and ws_sold_date_sk = d_date_sk and d_year = 1998 group by i_manufact_id)
select i_manufact_id, sum(total_sales) total_sales from (select * from ss union all select * from ws) tmp1 group by i_manufact_id order by total_sales limit 100;

-- # q2: weekly sales of both channels compared with a year before
with wscs as (select sold_date_sk, sales_price from (select ws_sold_date_sk sold_date_sk, ws_ext_sales_price sales_price from web_sales union all select ss_sold_date_sk sold_date_sk, ss_ext_sales_price sales_price from store_sales)), wswscs as (select d_week_seq, sum(case when (d_day_name='Sunday') then sales_price else null end) sun_sales, sum(case when (d_day_name='Monday') then sales_price else null end) mon_sales from wscs, date_dim where d_date_sk = sold_date_sk group by d_week_seq)
select y.d_week_seq, round(y.sun_sales / z.sun_sales, 2) sun, round(y.mon_sales / z.mon_sales, 2) mon from wswscs y, wswscs z where y.d_week_seq = z.d_week_seq - 53 and y.d_week_seq between 5113 and 5120 order by y.d_week_seq;

-- # q4: customers whose web sales grew faster
with year_total as (select ss_customer_sk customer_id, d_year as dyear, sum(ss_ext_sales_price) year_total, 's' sale_type from store_sales, date_dim where ss_sold_date_sk = d_date_sk group by ss_customer_sk, d_year union all select ws_bill_customer_sk customer_id, d_year dyear, sum(ws_ext_sales_price) year_total, 'w' sale_type from web_sales, date_dim where ws_sold_date_sk = d_date_sk group by ws_bill_customer_sk, d_year)
select count(*) as n from year_total t_s_firstyear, year_total t_s_secyear, year_total t_w_firstyear, year_total t_w_secyear where t_s_secyear.customer_id = t_s_firstyear.customer_id and t_s_firstyear.customer_id = t_w_secyear.customer_id and t_s_firstyear.customer_id = t_w_firstyear.customer_id and t_s_firstyear.sale_type = 's' and t_w_firstyear.sale_type = 'w' and t_s_secyear.sale_type = 's' and t_w_secyear.sale_type = 'w' and t_s_firstyear.dyear = 1998 and t_s_secyear.dyear = 1999 and t_w_firstyear.dyear = 1998 and t_w_secyear.dyear = 1999 and t_s_firstyear.year_total > 0 and t_w_firstyear.year_total > 0 and t_w_secyear.year_total / t_w_firstyear.year_total > t_s_secyear.year_total / t_s_firstyear.year_total;

-- # q22: rollup of means by brand and class
select i_category, i_brand, avg(ss_quantity) q from store_sales, date_dim, item where ss_sold_date_sk = d_date_sk and ss_item_sk = i_item_sk and d_month_seq between 1176 and 1187 group by rollup(i_category, i_brand) order by q, i_category, i_brand limit 100;

-- # q27: by item and store, cube
select i_category, s_state, count(*) n from store_sales, store, item where ss_item_sk = i_item_sk and ss_store_sk = s_store_sk group by cube(i_category, s_state) order by all;

-- # q35: demography with spread
-- within 3
select ca_state, cd_gender, count(*) cnt1, min(c_birth_year), max(c_birth_year), avg(c_birth_year) from customer c, customer_address ca, customer_demographics where c.c_current_addr_sk = ca.ca_address_sk and cd_demo_sk = c.c_current_cdemo_sk and exists (select * from store_sales, date_dim where c.c_customer_sk = ss_customer_sk and ss_sold_date_sk = d_date_sk and d_year = 1998 and d_qoy < 4) group by ca_state, cd_gender order by ca_state, cd_gender limit 100;
-- truth
select ca_state, cd_gender, count(*) cnt1, quantile_cont(c_birth_year, 0.01) as "min(c_birth_year)", quantile_cont(c_birth_year, 0.99) as "max(c_birth_year)", avg(c_birth_year) from customer c, customer_address ca, customer_demographics where c.c_current_addr_sk = ca.ca_address_sk and cd_demo_sk = c.c_current_cdemo_sk and exists (select * from store_sales, date_dim where c.c_customer_sk = ss_customer_sk and ss_sold_date_sk = d_date_sk and d_year = 1998 and d_qoy < 4) group by ca_state, cd_gender order by ca_state, cd_gender limit 100;

-- # q39: months whose quantities spread much
with inv as (select i_item_id, d_moy, stdev, mean, case mean when 0 then null else stdev/mean end cov from (select i_item_id, d_moy, stddev_samp(ss_quantity) stdev, avg(ss_quantity) mean from store_sales, item, date_dim where ss_item_sk = i_item_sk and ss_sold_date_sk = d_date_sk and d_year = 1998 group by i_item_id, d_moy) foo where case mean when 0 then 0 else stdev/mean end > 0.55)
select inv1.i_item_id, inv1.d_moy, inv1.mean, inv1.cov, inv2.d_moy as m2, inv2.mean as mean2, inv2.cov as cov2 from inv inv1, inv inv2 where inv1.i_item_id = inv2.i_item_id and inv1.d_moy = 1 and inv2.d_moy = 1+1 order by inv1.i_item_id, inv1.d_moy;

-- # q68: what people bought away from home
select avg(bought) as bought, count(*) as n from (select ss_customer_sk, sum(ss_ext_sales_price) bought from store_sales join customer_address bought_at on ss_addr_sk = bought_at.ca_address_sk join customer on ss_customer_sk = c_customer_sk join customer_address current_addr on customer.c_current_addr_sk = current_addr.ca_address_sk where current_addr.ca_city <> bought_at.ca_city group by ss_customer_sk) t;

-- # q46: shares of people with a child who buy at home
select hd_dep_count, count(distinct ss_customer_sk) as people, sum(ss_coupon_amt) as amt from store_sales join household_demographics on ss_hdemo_sk = hd_demo_sk join store on ss_store_sk = s_store_sk where s_state = 'TN' group by hd_dep_count order by hd_dep_count;

-- # q67: the best items of each category
select * from (select i_category, i_item_id, sumsales, rank() over (partition by i_category order by sumsales desc) rk from (select i_category, i_item_id, sum(coalesce(ss_sales_price * ss_quantity, 0)) sumsales from store_sales, item where ss_item_sk = i_item_sk group by rollup(i_category, i_item_id)) dw1) dw2 where rk <= 3 order by i_category, rk limit 100;

-- # q70: states by profit, ranked
select sum(ss_net_profit) as total_sum, s_state, s_county, grouping(s_state)+grouping(s_county) as lochierarchy from store_sales, date_dim d1, store where d1.d_month_seq between 1176 and 1187 and d1.d_date_sk = ss_sold_date_sk and s_store_sk = ss_store_sk and s_state in (select s_state from (select s_state as s_state, rank() over (partition by s_state order by sum(ss_net_profit) desc) as ranking from store_sales, store, date_dim where d_month_seq between 1176 and 1187 and d_date_sk = ss_sold_date_sk and s_store_sk = ss_store_sk group by s_state) tmp1 where ranking <= 5) group by rollup(s_state, s_county) order by lochierarchy desc, s_state, s_county;

-- # q76: sales without a store
select 'store' as channel, 'ss_store_sk' col_name, d_year, d_qoy, i_category, count(*) sales_cnt, sum(ss_ext_sales_price) sales_amt from store_sales, item, date_dim where ss_store_sk is null and ss_sold_date_sk = d_date_sk and ss_item_sk = i_item_sk group by channel, col_name, d_year, d_qoy, i_category order by all;

-- # q83: returns of both, by item
select sr_items.item_id, sr_item_qty, sr_item_qty * 100.0 / ss_qty as share from (select i_item_id item_id, sum(sr_return_quantity) sr_item_qty from store_returns, item, date_dim where sr_item_sk = i_item_sk and d_date in (select d_date from date_dim where d_week_seq in (select d_week_seq from date_dim where d_date in (date '1998-03-05', date '1998-07-05'))) and sr_returned_date_sk = d_date_sk group by i_item_id) sr_items, (select i_item_id item_id, sum(ss_quantity) ss_qty from store_sales, item where ss_item_sk = i_item_sk group by i_item_id) s where sr_items.item_id = s.item_id and sr_item_qty > 0.5 order by sr_items.item_id;
