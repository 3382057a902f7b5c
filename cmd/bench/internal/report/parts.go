package report

// Parts of a run that are measured separately. The service is the floor or the hub process.
const (
	PartService   = "service"
	PartPostgres  = "postgres"
	PartRedis     = "redis"
	PartGenerator = "generator"
	PartReceiver  = "receiver"
	PartCompared  = "compared" // service + postgres + redis: what an operator pays for
)
