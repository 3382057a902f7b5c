package report

// Figures of the inbound scenario, beside the rate and the cost of webhooks. CPU is in
// milliseconds per 1,000 events; publishing to one endpoint includes the delivery.
const (
	FigurePublish            = "publish_per_s"
	FigurePublishCPU         = "publish_cpu_ms_per_1000"
	FigureUndelivered        = "publish_without_endpoint_per_s"
	FigureUndeliveredCPU     = "publish_without_endpoint_cpu_ms_per_1000"
	FigureInboundCPU         = "received_cpu_ms_per_1000"
	FigureInboundPercent     = "received_percent_of_published"
	FigureUndeliveredPercent = "received_percent_of_published_without_endpoint"
	FigureInboundCPUPercent  = "received_cpu_percent_of_publishing"
	FigureInsert             = "received_with_an_insert_per_s"
	FigureInsertCPU          = "received_with_an_insert_cpu_ms_per_1000"
	FigureInsertPercent      = "received_with_an_insert_percent_of_published"
)

// Figures of the scheduling scenario; p95 is over HTTP.
const (
	FigureDay            = "day_p95_ms"
	FigureMonth          = "month_p95_ms"
	FigureBooking        = "booking_p95_ms"
	FigureDashboard      = "dashboard_p95_ms"
	FigureEngine         = "month_engine_ms"      // CPU of the rules for one month
	FigureMonthCPU       = "month_service_cpu_ms" // of the hub process for one whole response
	FigureDoubleBookings = "doubles"
	FigureOtherLoad      = "other_load_cores" // kept busy by processes outside the run
)

// Figures of the clinic search scenario: each is the worst p95 of its searches, over HTTP.
const (
	FigurePhoneSearch = "search_p95_ms" // action search/patients, by phone
	FigureFHIRSearch  = "fhir_p95_ms"   // FHIR's search by phone
	FigurePatientList = "list_p95_ms"   // the users' list by name, e-mail and phone
)

// Figures of the messaging scenarios.
const (
	FigureInboundMessages    = "inbound_per_s"          // messages of phones, each stored once
	FigureInboundMessagesCPU = "inbound_cpu_s_per_1000" // CPU seconds of the hub, PostgreSQL and Redis per 1,000 of them
	FigureTicketList         = "ticket_list_p95_ms"     // the worst of the lists and searches, over HTTP
	FigureSend               = "send_p95_ms"            // from when a message was due
	FigureCampaign           = "campaign_per_s"         // contacts that got the campaign's message
	FigureCampaignMemory     = "campaign_peak_mb"       // of the hub, at the end
	FigureCampaignGrowth     = "campaign_growth_mb"     // of that peak, since the first 1,000 contacts
)

// Figures of the import scenario.
const (
	FigureImport            = "import_s"        // from the upload to the last commit
	FigureReimport          = "import_again_s"  // the same file again: every patient exists
	FigureImportMemory      = "import_peak_mb"  // of the hub, after both
	FigureLargeImportMemory = "import_large_mb" // of the hub, after a file ten times as long
)

// Figures of the scenario of a hanging tenant: p99 end to end of the other tenants.
const (
	FigureQuietTenants     = "quiet_p99_ms"      // nothing hangs
	FigureTenantsBesideOne = "beside_one_p99_ms" // one event waits at each hanging endpoint
	FigureTenantsBesideTen = "beside_ten_p99_ms" // eleven do
)

// Figures of the scenario of a tenant with large batches: p99 of the other tenants, end to
// end and of publishing alone.
const (
	FigureQuietPublish         = "quiet_publish_p99_ms"          // there are no batches
	FigureBesideBatches        = "beside_batches_p99_ms"         // end to end
	FigurePublishBesideBatches = "beside_batches_publish_p99_ms" //
	FigureBatches              = "batches_per_s"                 // of 10,000 deliveries each
	FigureBatchesMemory        = "batches_peak_mb"               // of the hub
)

// Figures of the churn scenario: events accepted a second by 500 tenants.
const (
	FigureQuiet       = "quiet_per_s"                 // nobody changes anything
	FigureChurn       = "churn_per_s"                 // 17 changes of configuration a second
	FigureNoOps       = "no_ops_per_s"                // one tenant repeats an update that changes nothing
	FigureChurnRatio  = "churn_of_quiet"              //
	FigureNoOpsRatio  = "no_ops_of_quiet"             //
	FigureNoOpUpdates = "no_op_updates_per_s"         // made by that tenant meanwhile
	FigureChanges     = "configuration_changes_per_s" // made meanwhile
)

// Figures of the scenario of order by key: events settled a second by one endpoint.
const (
	FigureUnordered       = "unordered_per_s"         // without order
	FigureOrdered         = "ordered_per_s"           // 1,000 keys
	FigureOrderedManyKeys = "ordered_many_keys_per_s" // 100,000 keys
	FigureOrderedRatio    = "ordered_of_unordered"
	FigureManyKeysRatio   = "many_keys_of_unordered"
	FigureOrderMemory     = "order_peak_mb" // of the hub
)

// Figures of the scenario of events that wait in order. Growth is that of the hub's memory,
// since it had nothing to do.
const (
	FigureBacklogIdle       = "backlog_idle_mb"           // before
	FigureBacklogPublishing = "backlog_publish_growth_mb" // the peak while they are published
	FigureBacklogRestarted  = "backlog_restart_growth_mb" // the peak of a process that starts with them
	FigureBacklogDraining   = "backlog_drain_growth_mb"   // the peak while they are sent
	FigureBacklogGrowth     = "backlog_growth_mb"         // the largest of these
	FigureBacklogDrained    = "backlog_drained_per_s"
	FigureBacklogOutOfOrder = "backlog_out_of_order" // arrivals before an earlier event of their key
)

// Figures of the scenario of validation: events settled a second by one endpoint, and CPU in
// milliseconds per 1,000 of them.
const (
	FigureUnchecked         = "unchecked_per_s"                // validation off
	FigureUncheckedCPU      = "unchecked_cpu_ms_per_1000"      //
	FigureChecked           = "checked_per_s"                  // validation reject; a pattern of one run of characters
	FigureCheckedCPU        = "checked_cpu_ms_per_1000"        //
	FigureCheckedRatio      = "checked_of_unchecked"           //
	FigureCheckedGroups     = "checked_groups_per_s"           // the same with a pattern that repeats a group
	FigureCheckedGroupsCPU  = "checked_groups_cpu_ms_per_1000" //
	FigureCheckedGroupsPart = "checked_groups_of_unchecked"
)

// Figures of the scenario of filters: events settled a second by 300 endpoints, and CPU in
// milliseconds per 1,000 events.
const (
	FigureUnfiltered    = "unfiltered_per_s"
	FigureUnfilteredCPU = "unfiltered_cpu_ms_per_1000"
	FigureFiltered      = "filtered_per_s" // each endpoint with a filter that is true
	FigureFilteredCPU   = "filtered_cpu_ms_per_1000"
	FigureFilteredRatio = "filtered_of_unfiltered"
	FigureOneMatches    = "one_matches_per_s" // of the 300 filters one is true: one delivery of each event
	FigureOneMatchesCPU = "one_matches_cpu_ms_per_1000"
)

// Figures of the scenario of a link of two accounts.
const (
	FigureLinkRate     = "link_per_minute"  // events received while more wait
	FigureLinkDeletion = "link_deletion_ms" // from publishing the slowest deletion to its being stored
)

// FigureIdleMemory is the key of the idle hub's resident memory in [Result.Figures].
const FigureIdleMemory = "idle_mb"

// FigureWorstQuery is the key of the largest p95 of the judged queries in [Result.Figures].
const FigureWorstQuery = "worst_query_p95_ms"
