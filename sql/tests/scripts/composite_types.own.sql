-- What is refused of composite types.
create type pair as (a int, b text);
create table item (id int, label text);
create table holds (i item);
create table held as select item from item;
alter table item add column i item[];
create type made_of as (i item);
create domain positive as int;
create type of_domain as (p positive);
create table keys (p pair primary key);
alter type pair drop attribute b;
create type other as (a int);
create table defaults (o other default '(1)', os other[] default '{}');
alter type other add attribute b int;
alter table defaults alter o drop default;
alter type other add attribute b int;
insert into defaults default values returning *;
create view v as select item from item;
