-- name: Queue :one
select * from messaging.queues where company_id = $1 and id = $2;
