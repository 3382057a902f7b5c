-- What names of the schema mean that the code has other words for. They are not renamed: processes
-- of the version before go on running beside this one while it is rolled out.
-- +goose Up
comment on column hub.erasures.held is 'erased events of which a process had leased deliveries. Not that the deletion event is held back: that is hold_ended_at';
comment on column hub.erasures.screened_at is 'when what waited about the person was erased';
comment on column hub.deliveries.spent is 'attempts of this round that count against its four: CountedAttempts in the code';
comment on function hub.unfold_leases(uuid[]) is 'materializes the deliveries that leases cover: each gets a row of its own';
comment on view hub.promised is 'the deliveries that leases cover: those without a row, and of some a row may be there already';
