package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"log/slog"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
)
import (
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/delivery/client"
	"integrationhub/hub/internal/directory"
	"integrationhub/hub/internal/gateway"
	"integrationhub/hub/internal/ledger"
	"integrationhub/hub/internal/outbox"
	"integrationhub/hub/migrations"
)

type plain struct{}

func (plain) Open(b []byte, _ string) ([]byte, error) { return b, nil }

type lim struct{}

func (lim) Count(*fiber.Ctx, *directory.Key) error { return nil }

type rec struct{}

func (rec) Accepted(string, int, int) {}

func main() {
	ctx := context.Background()
	url := os.Args[1]
	if _, err := migrations.Up(ctx, url); err != nil {
		panic(err)
	}
	cfg, _ := pgxpool.ParseConfig(url)
	cfg.MaxConns = 16
	for _, s := range strings.Fields(os.Getenv("PGSET")) { k, v, _ := strings.Cut(s, "="); cfg.ConnConfig.RuntimeParams[k] = v }
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		panic(err)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	dir := directory.New(pool, plain{}, log, time.Now)
	var retrier *delivery.Retrier
	w := ledger.NewWriter(pool, log, time.Now, func(a []delivery.Attempt) { retrier.Schedule(a) })
	d := delivery.NewDispatcher(delivery.Config{Pool: pool, Directory: dir, Log: w, Logger: log, Now: time.Now, Concurrency: 1024, EndpointConcurrency: 64,
		Client: client.New(client.Config{Dial: func(ctx context.Context, n, a string) (net.Conn, time.Duration, time.Duration, error) {
			c, err := net.Dial(n, a)
			return c, 0, 0, err
		}})})
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + os.Args[3]})
	retrier = delivery.NewRetrier(rdb, d, log)
	go retrier.Run(ctx)
	go d.Sweep(ctx)
	go dir.Run(ctx)
	go ledger.NewMaintenance(pool, log, time.Now, 720*time.Hour).Run(ctx)
	ob := outbox.New(pool, dir, d, rec{}, log, time.Now)
	h := sha256.Sum256([]byte("k"))
	pool.Exec(ctx, `insert into hub.products(name,prefix,title) values('bench','bench','b') on conflict do nothing`)
	t := uuid.New()
	pool.Exec(ctx, `delete from hub.keys`)
	pool.Exec(ctx, `insert into hub.tenants(id,product,name) values($1,'bench','b')`, t)
	pool.Exec(ctx, `insert into hub.keys(id,tenant_id,environment,hash,prefix,last4,scopes,rate) values($1,$2,'live',$3,'p','l','{events.publish}','0')`, uuid.New(), t, h[:])
	var n int
	fmt.Sscan(os.Args[4], &n)
	for i := range n {
		pool.Exec(ctx, `insert into hub.endpoints(id,tenant_id,environment,url,event_types,secret) values($1,$2,'live',$3,'{*}','whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')`, uuid.New(), t, os.Args[2]+fmt.Sprint("/", i))
	}
	go http.ListenAndServe("127.0.0.1:6060", nil)
	g := gateway.New(dir, lim{}, ob)
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Post("/api/v1/events", g.Publish)
	app.Get("/ready", func(c *fiber.Ctx) error { return nil })
	panic(app.Listen("127.0.0.1:57081"))
}
