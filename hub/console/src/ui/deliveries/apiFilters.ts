import type { Environment } from "../../api/client";
import type { DeliverySearch } from "./search";

/** logFiltersOf returns the filters of a tenant's log as the API names them. */
export const logFiltersOf = (search: DeliverySearch) => ({
	status: search.status,
	direction: search.direction,
	event_type: search.type,
	product: search.product,
	status_code: search.code ? Number(search.code) : undefined,
	correlation_id: search.correlation,
	endpoint_id: search.endpoint,
	integration_id: search.integration,
	event_id: search.event,
	since: search.since,
	until: search.until,
	q: search.q,
});

/** filtersOf returns a list's filters as the hub's API names them. */
export const filtersOf = (environment: Environment, search: DeliverySearch) => ({ environment, tenant_id: search.tenant, ...logFiltersOf(search) });
