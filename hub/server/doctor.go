package server

import (
	"context"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"integrationhub/hub/config"
	"integrationhub/hub/embedded"
	"integrationhub/hub/internal/egress"
	"integrationhub/hub/module"
)

// Finding is the result of one check of the doctor.
type Finding struct {
	Check  string `json:"check"`
	Status string `json:"status"` // "ok", "warning", "failed"
	Detail string `json:"detail"`
	Advice string `json:"advice,omitempty"` // what to do; "" = nothing
}

// Statuses of a finding.
const (
	FindingOK      = "ok"
	FindingWarning = "warning"
	FindingFailed  = "failed"
)

// Thresholds of the checks.
const (
	clockTolerance  = 2 * time.Second
	oldestTolerance = 5 * time.Minute
	oldestMajor     = 15 // of PostgreSQL
)

// Doctor checks an installation beside the running hub and reports each finding at once.
// modules are the products of the hub. With full it counts every row of the log, else those
// of today and yesterday. Doctor changes nothing.
func Doctor(ctx context.Context, cfg config.Config, modules []module.Module, full bool, report func(Finding)) {
	url, advice := cfg.DatabaseURL.Reveal(), "check that it runs and that HUB_DATABASE_URL is right"
	if url == "" {
		running, ok := embedded.RunningPostgresURL(postgresDir(cfg))
		if !ok {
			report(missingPostgresFinding(cfg))
			checkDisks(cfg, report)
			checkRedis(ctx, cfg, report)
			checkEgress(ctx, cfg, report)
			return
		}
		url, advice = running, privatePostgresAdvice(cfg)
	}
	settings := maps.Clone(apiSettings)
	settings["statement_timeout"] = openDayTimeout
	if full {
		settings["statement_timeout"] = anyDayTimeout
	}
	db, err := openPool(ctx, url, 2, settings)
	if err == nil {
		err = db.Ping(ctx)
	}
	if err != nil {
		report(Finding{"database", FindingFailed, "PostgreSQL does not respond: " + oneLine(err), advice})
	} else {
		defer db.Close()
		checkDatabase(ctx, db, report)
		checkConnections(ctx, db, len(enabledModules(cfg, modules)), report)
		if checkMigrations(ctx, cfg, url, modules, report) {
			checkPartitions(ctx, db, report)
			checkBacklog(ctx, db, report)
			checkLog(ctx, db, full, report)
		}
	}
	checkDisks(cfg, report)
	checkRedis(ctx, cfg, report)
	checkEgress(ctx, cfg, report)
}

// postgresDir is the directory of the private PostgreSQL.
func postgresDir(cfg config.Config) string { return filepath.Join(cfg.DataDir, "postgres") }

// missingPostgresFinding is the finding where no private PostgreSQL takes connections: none
// should, or the one of a running hub is down.
func missingPostgresFinding(cfg config.Config) Finding {
	if pid, ok := embedded.Owner(postgresDir(cfg)); ok {
		return Finding{
			"database", FindingFailed, fmt.Sprintf("the hub that runs on %s (process %d) has no PostgreSQL that takes connections", cfg.DataDir, pid),
			privatePostgresAdvice(cfg),
		}
	}
	return Finding{
		"database", FindingFailed, "no hub is running on " + cfg.DataDir,
		"start it with: hub serve; or name the data of the one that runs with --data-dir; or set HUB_DATABASE_URL",
	}
}

func privatePostgresAdvice(cfg config.Config) string {
	return "look at " + filepath.Join(postgresDir(cfg), "postgres.log") + ", and at the disk; the hub restarts it by itself"
}

// oneLine joins the lines of an error: the driver lists every address it tried.
func oneLine(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}

func checkDatabase(ctx context.Context, db *pgxpool.Pool, report func(Finding)) {
	var version, durable string
	var number int
	var now time.Time
	start := time.Now()
	err := db.QueryRow(ctx, `
		select current_setting('server_version'), current_setting('server_version_num')::integer, current_setting('synchronous_commit'), clock_timestamp()`).
		Scan(&version, &number, &durable, &now)
	elapsed := time.Since(start)
	if err != nil {
		report(Finding{"database", FindingFailed, "asking PostgreSQL failed: " + err.Error(), ""})
		return
	}
	report(databaseFinding(version, number, durable, elapsed))
	skew := now.Sub(start.Add(elapsed / 2)).Round(time.Millisecond)
	if skew.Abs() > clockTolerance {
		report(Finding{"clock", FindingWarning, fmt.Sprintf("this machine's clock and the database's differ by %s", skew), "run a time service (NTP) on both; leases use the database's clock, so nothing is lost, but webhooks have this machine's time: receivers refuse those that are 5 minutes off"})
		return
	}
	report(Finding{"clock", FindingOK, fmt.Sprintf("differs from the database's by %s", skew), ""})
}

// databaseFinding judges a server: number is its server_version_num, durable its
// synchronous_commit.
func databaseFinding(version string, number int, durable string, elapsed time.Duration) Finding {
	switch {
	case number/10000 < oldestMajor:
		return Finding{"database", FindingFailed, "PostgreSQL " + version + " is too old", fmt.Sprintf("use version %d or newer", oldestMajor)}
	case durable == "off":
		return Finding{"database", FindingFailed, "synchronous_commit is off: a crash of the server loses accepted events", "set synchronous_commit = on"}
	}
	return Finding{"database", FindingOK, fmt.Sprintf("PostgreSQL %s responds in %s", version, elapsed.Round(10*time.Microsecond)), ""}
}

// checkMigrations checks every schema and reports whether the hub's own can be read.
func checkMigrations(ctx context.Context, cfg config.Config, url string, modules []module.Module, report func(Finding)) (readable bool) {
	schemas, err := Schemas(ctx, cfg, url, modules)
	if err != nil {
		report(Finding{"migrations", FindingFailed, err.Error(), ""})
		return false
	}
	for _, schema := range schemas {
		name := "the schema"
		if schema.Name != hubSchema {
			name = "the schema of " + schema.Name
		}
		switch {
		case schema.Current < schema.Target:
			report(Finding{"migrations", FindingFailed, fmt.Sprintf("%s is at version %d, this hub needs %d", name, schema.Current, schema.Target), "run: hub migrate"})
		case schema.Current > schema.Target:
			report(Finding{"migrations", FindingFailed, fmt.Sprintf("%s is at version %d, newer than this hub's %d", name, schema.Current, schema.Target), "run a newer hub"})
		default:
			report(Finding{"migrations", FindingOK, fmt.Sprintf("%s is at version %d", name, schema.Current), ""})
		}
	}
	return schemas[0].Current == schemas[0].Target
}

func checkPartitions(ctx context.Context, db *pgxpool.Pool, report func(Finding)) {
	var ahead int
	var hasAudit bool
	err := db.QueryRow(ctx, `
		select count(*), (select max(end_id::text) > hub.day_floor((now() at time zone 'UTC')::date + 3)::text from hub.audit_partitions())
		from generate_series(0, 2) n
		where to_regclass('hub.deliveries_p' || to_char((now() at time zone 'UTC')::date + n, 'YYYYMMDD')) is not null`).Scan(&ahead, &hasAudit)
	switch {
	case err != nil:
		report(Finding{"partitions", FindingFailed, err.Error(), ""})
	case ahead < 3 || !hasAudit:
		report(Finding{"partitions", FindingFailed, "the tables of today or the next two days are missing", "a running hub makes them; look for \"maintenance failed\" in its log"})
	default:
		report(Finding{"partitions", FindingOK, "made for today and the days ahead", ""})
	}
}

func checkBacklog(ctx context.Context, db *pgxpool.Pool, report func(Finding)) {
	var overdue int64
	var oldest time.Duration
	err := db.QueryRow(ctx, `
		select count(*), coalesce(now() - min(due_at), interval '0') from (
			(select due_at from hub.deliveries where status = 0 and due_at < now() limit 100000)
			union all select due_at from hub.promised where due_at < now()) d`).Scan(&overdue, &oldest)
	switch {
	case err != nil:
		report(Finding{"backlog", FindingFailed, err.Error(), ""})
	case oldest > oldestTolerance:
		report(Finding{"backlog", FindingWarning, fmt.Sprintf("%d deliveries are overdue, the oldest by %s", overdue, oldest.Round(time.Second)),
			"a slow or dead endpoint has a backlog (hub deliveries list --status pending), or no hub is delivering"})
	default:
		report(Finding{"backlog", FindingOK, fmt.Sprintf("%d deliveries overdue", overdue), ""})
	}
}

func checkRedis(ctx context.Context, cfg config.Config, report func(Finding)) {
	address := cfg.RedisURL.Reveal()
	if address == "" {
		report(Finding{"redis", FindingOK, "in the hub's own process", ""})
		return
	}
	options, err := redis.ParseURL(address)
	if err != nil {
		report(Finding{"redis", FindingFailed, "HUB_REDIS_URL is not a valid redis:// URL", ""})
		return
	}
	redis.SetLogger(&logging.VoidLogger{}) // the finding says it
	client := redis.NewClient(options)
	defer client.Close()
	start := time.Now()
	if err := client.Ping(ctx).Err(); err != nil {
		report(Finding{"redis", FindingWarning, "Redis does not respond: " + err.Error(), "nothing is lost: limits are counted per process and retries come up to 3 s late until it is back"})
		return
	}
	report(Finding{"redis", FindingOK, "responds in " + time.Since(start).Round(10*time.Microsecond).String(), ""})
}

// checkEgress checks that the guard refuses private addresses, that an egress proxy takes
// connections and that names resolve.
func checkEgress(ctx context.Context, cfg config.Config, report func(Finding)) {
	guard, err := egress.New(egress.Config{Allow: cfg.EgressAllow, SelfURLs: []string{cfg.BaseURL()}, Development: !cfg.IsProduction(), Proxy: cfg.EgressProxyURL()})
	if err != nil {
		report(Finding{"egress", FindingFailed, err.Error(), ""})
		return
	}
	if _, err := guard.CheckURL("url", "http://169.254.169.254/latest/meta-data/"); err == nil {
		report(Finding{"egress", FindingFailed, "cloud metadata addresses are not refused", ""})
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	name, err := guard.CheckProxy(ctx)
	if err != nil {
		report(Finding{"egress", FindingWarning, err.Error(), "deliveries to other machines fail until it is back; check HUB_EGRESS_PROXY"})
		return
	}
	if name != "" {
		name = ", the egress proxy " + name + " takes connections"
	}
	if _, err := net.DefaultResolver.LookupNetIP(ctx, "ip", "example.com"); err != nil {
		report(Finding{"egress", FindingWarning, "private networks are refused; names cannot be resolved here" + name, "webhooks to other machines by name will fail; check the resolver"})
		return
	}
	report(Finding{"egress", FindingOK, "private networks are refused, names resolve" + name, ""})
}
