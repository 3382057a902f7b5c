package report

// The parts of a run whose CPU time and memory are told apart. The service is
// the floor or the hub process.
const (
	PartService   = "service"
	PartPostgres  = "postgres"
	PartRedis     = "redis"
	PartGenerator = "generator"
	PartReceiver  = "receiver"
	PartCompared  = "compared" // service + postgres + redis: what an operator pays for
)
