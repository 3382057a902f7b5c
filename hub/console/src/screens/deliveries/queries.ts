import { bodyOf, client, type Environment } from "../../api/client";
import { filtersOf } from "../../ui/deliveries/apiFilters";
import { pagedDeliveries } from "../../ui/deliveries/paging";
import type { DeliverySearch } from "../../ui/deliveries/search";

/** deliveriesQuery reads the log of all tenants page by page. */
export const deliveriesQuery = (environment: Environment, search: DeliverySearch) =>
	pagedDeliveries(["deliveries", environment, search], (query, signal) => bodyOf(client.GET("/api/v1/deliveries", { signal, params: { query: { ...query, ...filtersOf(environment, search) } } })));
