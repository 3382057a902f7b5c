package main_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

type finding struct{ Check, Status, Detail, Advice string }

func TestDoctor(t *testing.T) {
	t.Parallel()
	s, c := ownHub(t)
	p := s.newTenant(c).withKey()
	p.subscribe(newReceiver(t, 200, "").URL)
	p.publishBatch(3, "a.b")
	p.awaitSettled(3, "delivered")
	careless := c.among(serverEnv(c.dir, s.database, s.redis)).run("doctor")
	require.Equal(t, 3, careless.code)
	require.Contains(t, careless.stdout, "synchronous_commit is off", "the tests' own PostgreSQL may lose data")
	well := c.among(serverEnv(c.dir, s.database+"&synchronous_commit=on", s.redis))
	shown := well.run("doctor").requireOK()
	for _, line := range []string{
		`database +ok +PostgreSQL \d+.* responds in `, `connections +(ok|warning) +up to 47 of the \d+ that PostgreSQL accepts`, `clock +ok +differs`, `migrations +ok +the schema is at version \d+`,
		`migrations +ok +the schema of scheduling is at version \d+`, `migrations +ok +the schema of messaging is at version \d+`, `migrations +ok +the schema of clinic is at version \d+`,
		`partitions +ok`, `backlog +ok +0 deliveries overdue`, `sum +ok +accepted 3 = delivered 3 \+ parked 0 \+ pending 0 \+ failed 0$`,
		`events +ok +every delivery has its event$`, `attempts +ok +none is missing$`, `disk +(ok|warning) +.* free on the disk of the data directory`,
		`redis +ok +responds in`, `egress +(ok|warning) +private networks are refused`,
	} {
		require.Regexp(t, `(?m)^`+line, shown)
	}
	var findings []finding
	well.run("doctor", "-o", "json").decode(&findings)
	require.Len(t, findings, 15)
	require.Equal(t, finding{Check: "sum", Status: "ok", Detail: "accepted 3 = delivered 3 + parked 0 + pending 0 + failed 0"}, findings[9])
	require.Contains(t, well.run("doctor", "--full").requireOK(), "accepted 3 = delivered 3")

	// A Redis that is away loses nothing.
	alone := well.withEnv("HUB_REDIS_URL", "redis://:canary@127.0.0.1:1/0").run("doctor")
	require.Regexp(t, `(?m)^redis +warning +Redis does not respond`, alone.requireOK())
	require.NotContains(t, alone.stdout+alone.stderr, "canary")

	// A delivery that is neither delivered, parked, pending nor failed is noticed.
	s.exec(t, `delete from hub.deliveries where id = (select id from hub.deliveries order by id limit 1)`)
	lost := well.run("doctor")
	require.Equal(t, 3, lost.code)
	require.Regexp(t, `(?m)^sum +FAILED +\d{4}-\d\d-\d\d: accepted 3 ≠ delivered 2 `, lost.stdout)
	require.Contains(t, lost.stderr, "1 check failed: see above what to do")
	require.Equal(t, 3, well.run("doctor", "-o", "json").code)

	s.exec(t, `delete from hub.events where seq = (select seq from hub.events order by seq desc limit 1)`)
	require.Regexp(t, `(?m)^events +FAILED +\d{4}-\d\d-\d\d: 1 events of 1 deliveries are missing; 0 of these wait`, well.run("doctor").stdout)

	s.exec(t, `set session_replication_role = replica; update hub.schema_version set version_id = version_id + 100 where version_id = (select max(version_id) from hub.schema_version)`)
	newer := well.run("doctor")
	require.Equal(t, 3, newer.code)
	require.Regexp(t, `(?m)^migrations +FAILED .*newer than this hub's`, newer.stdout)
}

func TestDoctorWithoutHub(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	none := c.run("doctor")
	require.Equal(t, 3, none.code)
	require.Regexp(t, `(?m)^database +FAILED +no hub is running on \./data$`, none.stdout)
	require.Contains(t, none.stdout, "→ start it with: hub serve")
	require.Contains(t, none.stdout, "--data-dir", "it may run elsewhere")
	require.Regexp(t, `(?m)^redis +ok`, none.stdout, "the other checks are made")
	require.NoDirExists(t, filepath.Join(c.dir, "data"), "it changes nothing")
	away := c.withEnv("HUB_DATABASE_URL", "postgres://hub:canary@127.0.0.1:1/hub").run("doctor")
	require.Equal(t, 3, away.code)
	require.Regexp(t, `(?m)^database +FAILED +PostgreSQL does not respond`, away.stdout)
	require.NotContains(t, away.stdout+away.stderr, "canary")
	c.withEnv("HUB_DATABASE_URL", "mysql://x").run("doctor").requireFails(3, "HUB_DATABASE_URL must be a URL that begins with postgres://")
}
