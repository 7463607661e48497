-- A table filled, indexed and asked, in a file.
pragma journal_mode = off;
pragma synchronous = off;
create table orders (id integer primary key, customer integer, item text, price integer);
begin;
with recursive n (i) as (select 1 union all select i + 1 from n where i < :rows)
insert into orders
select i, i * 7919 % 10007, printf('item %d', i * 104729 % 65537), i * 31 % 997 from n;
commit;
create index by_customer on orders (customer);
create index by_item on orders (item);
select count(*), sum(price) from orders;
select count(*), sum(total) from (select customer, sum(price) as total from orders group by customer having total > 100);
select count(*) from orders a join orders b on a.item = b.item where a.id < b.id;
select item, count(*) as n from orders group by item order by n desc, item limit 5;
