-- What Hibernate's schema export creates: sequences that step by 50, checks for enums, generated names.
create sequence hibernate_orders_seq start with 1 increment by 50;
create table customer_entity (id bigint not null, version integer not null, birth_day date, display_name varchar(255) not null, kind varchar(255) check (kind in ('PERSON','COMPANY')), primary key (id));
create table order_entity (total numeric(38,2), is_paid boolean not null, customer_id bigint not null, id bigint not null, placed_at timestamp(6) with time zone, status smallint check (status between 0 and 3), primary key (id));
create table order_entity_tags (order_entity_id bigint not null, tags varchar(255));
create table line_entity (position integer not null, quantity integer not null, order_id bigint not null, sku varchar(64) not null, primary key (order_id, position));
alter table if exists customer_entity add constraint UK6dotkott2kjsp8vw4d0m25fb7 unique (display_name);
alter table if exists order_entity add constraint FKc6vf6o2b9vlb6wh8hn4pyb9ct foreign key (customer_id) references customer_entity;
alter table if exists order_entity_tags add constraint FKr6rcnpbyl2k6v9kd2b1jdgx6u foreign key (order_entity_id) references order_entity;
alter table if exists line_entity add constraint FKjyu2qbqt8gnvno9oe9j2s2ldk foreign key (order_id) references order_entity on delete cascade;
create index idx_order_status on order_entity (status, placed_at desc);
insert into customer_entity values (nextval('hibernate_orders_seq'), 0, '1999-12-31', 'Ann & co', 'COMPANY');
insert into order_entity values (12.50, false, 1, nextval('hibernate_orders_seq'), '2024-02-29 12:00:00.123456+00', 2);
insert into order_entity_tags values (51, 'urgent'), (51, null);
insert into line_entity values (0, 3, 51, 'pen');
