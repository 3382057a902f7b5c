import type { QueryClient } from "@tanstack/react-query";
import { createRoute, createRouter, lazyRouteComponent, redirect, retainSearchParams } from "@tanstack/react-router";
import { accountRoutes } from "../account/routes";
import { ApiError } from "../api/client";
import { auditSearch } from "../screens/audit/search";
import { deliveryListSearch } from "../ui/deliveries/search";
import { loadScreenTexts } from "../i18n/screens";
import { shownSearch } from "../ui/delivery/search";
import { endpointsSearch } from "../screens/endpoints/search";
import { eventTypesSearch } from "../screens/eventtypes/search";
import { integrationsSearch } from "../screens/integrations/search";
import { journeySearch } from "../screens/journey/search";
import { keysSearch } from "../screens/keys/search";
import { mailSearch } from "../screens/mail/search";
import { overviewSearch } from "../screens/overview/search";
import { replayFormSearch } from "../screens/replays/search";
import { tenantsSearch } from "../screens/tenants/search";
import { Crashed, Loading, Missing } from "../ui/states";
import { hostedProducts, type ProductName } from "./hosted";
import { root } from "./root";
import { matching, oneOf, parseSearch, stringifySearch } from "./search";
import { Shell } from "./Shell";
import { sessionQuery } from "./session";

/** ownPath returns a path of the console, never another site's address. */
function ownPath(value: unknown): string | undefined {
	return typeof value === "string" && /^\/(?![/\\])/.test(value) ? value : undefined;
}

/** LoginSearch is where to go after the login, why it is asked for, and whose account logs in. */
type LoginSearch = { to?: string; ended?: "1"; as?: ProductName };

const login = createRoute({
	getParentRoute: () => root,
	path: "/login",
	validateSearch: (search): LoginSearch => ({ to: ownPath(search.to), ended: oneOf(["1"], search.ended), as: oneOf(hostedProducts(), search.as) }),
	component: lazyRouteComponent(() => import("./Login"), "Login"),
});

const shell = createRoute({
	getParentRoute: () => root,
	id: "shell",
	validateSearch: (search): { environment?: "test" } => ({ environment: oneOf(["test"], search.environment) }),
	search: { middlewares: [retainSearchParams(["environment"])] },
	beforeLoad: async ({ context, location }) => {
		try {
			await context.queries.ensureQueryData(sessionQuery);
		} catch (error) {
			if (!(error instanceof ApiError) || error.status !== 401) throw error;
			throw redirect({ to: "/login", search: { to: location.href === "/" ? undefined : location.href }, replace: true });
		}
	},
	component: Shell,
});

const home = createRoute({
	getParentRoute: () => shell,
	path: "/",
	beforeLoad: ({ search }) => {
		throw redirect({ to: "/overview", search, replace: true });
	},
});

const oneEnvironment = { environments: false } as const;

// The screens: each in a chunk of its own, loaded when it is opened.
const overview = createRoute({
	getParentRoute: () => shell,
	path: "/overview",
	validateSearch: overviewSearch,
	component: lazyRouteComponent(() => import("../screens/overview/Overview"), "Overview"),
});
const integrations = createRoute({
	getParentRoute: () => shell,
	path: "/integrations",
	validateSearch: integrationsSearch,
	component: lazyRouteComponent(() => import("../screens/integrations/Integrations"), "Integrations"),
});
const integration = createRoute({
	getParentRoute: () => shell,
	path: "/integrations/$id",
	loader: loadScreenTexts,
	component: lazyRouteComponent(() => import("../screens/integration/Integration"), "Integration"),
});
const connect = createRoute({
	getParentRoute: () => shell,
	path: "/connect",
	validateSearch: (search): { q?: string } => ({ q: matching(/^.{1,120}$/, search.q) }),
	loader: loadScreenTexts,
	component: lazyRouteComponent(() => import("../screens/connect/Connect"), "Connect"),
});
const map = createRoute({
	getParentRoute: () => shell,
	path: "/map",
	loader: loadScreenTexts,
	component: lazyRouteComponent(() => import("../screens/map/Map"), "ConnectionMap"),
});
const health = createRoute({
	getParentRoute: () => shell,
	path: "/system", // /health is the hub's own, for load balancers
	staticData: oneEnvironment,
	loader: loadScreenTexts,
	component: lazyRouteComponent(() => import("../screens/health/Health"), "Health"),
});
const keys = createRoute({
	getParentRoute: () => shell,
	path: "/keys",
	validateSearch: keysSearch,
	loader: loadScreenTexts,
	component: lazyRouteComponent(() => import("../screens/keys/Keys"), "Keys"),
});
const endpoints = createRoute({
	getParentRoute: () => shell,
	path: "/endpoints",
	validateSearch: endpointsSearch,
	loader: loadScreenTexts,
	component: lazyRouteComponent(() => import("../screens/endpoints/Endpoints"), "Endpoints"),
});
const endpoint = createRoute({
	getParentRoute: () => shell,
	path: "/endpoints/$id",
	loader: loadScreenTexts,
	component: lazyRouteComponent(() => import("../screens/endpoint/Endpoint"), "Endpoint"),
});
const eventTypes = createRoute({
	getParentRoute: () => shell,
	path: "/event-types",
	staticData: oneEnvironment,
	validateSearch: eventTypesSearch,
	loader: loadScreenTexts,
	component: lazyRouteComponent(() => import("../screens/eventtypes/EventTypes"), "EventTypes"),
});
const eventType = createRoute({
	getParentRoute: () => shell,
	path: "/event-types/$id",
	staticData: oneEnvironment,
	loader: loadScreenTexts,
	component: lazyRouteComponent(() => import("../screens/eventtypes/EventType"), "EventType"),
});
const replays = createRoute({
	getParentRoute: () => shell,
	path: "/replays",
	validateSearch: replayFormSearch,
	loader: loadScreenTexts,
	component: lazyRouteComponent(() => import("../screens/replays/Replays"), "Replays"),
});
const replay = createRoute({
	getParentRoute: () => shell,
	path: "/replays/$id",
	loader: loadScreenTexts,
	component: lazyRouteComponent(() => import("../screens/replay/Replay"), "Replay"),
});
const audit = createRoute({
	getParentRoute: () => shell,
	path: "/audit",
	staticData: oneEnvironment,
	validateSearch: auditSearch,
	loader: loadScreenTexts,
	component: lazyRouteComponent(() => import("../screens/audit/Audit"), "Audit"),
});
const operatorList = createRoute({
	getParentRoute: () => shell,
	path: "/operators",
	staticData: oneEnvironment,
	loader: loadScreenTexts,
	component: lazyRouteComponent(() => import("../screens/operators/Operators"), "Operators"),
});
const tokens = createRoute({
	getParentRoute: () => shell,
	path: "/tokens",
	staticData: oneEnvironment,
	loader: loadScreenTexts,
	component: lazyRouteComponent(() => import("../screens/tokens/Tokens"), "Tokens"),
});
const alerts = createRoute({
	getParentRoute: () => shell,
	path: "/alerts",
	staticData: oneEnvironment,
	loader: loadScreenTexts,
	component: lazyRouteComponent(() => import("../screens/alerts/Alerts"), "Alerts"),
});
const tenants = createRoute({
	getParentRoute: () => shell,
	path: "/tenants",
	staticData: oneEnvironment,
	validateSearch: tenantsSearch,
	loader: loadScreenTexts,
	component: lazyRouteComponent(() => import("../screens/tenants/Tenants"), "Tenants"),
});
const mail = createRoute({
	getParentRoute: () => shell,
	path: "/mail",
	staticData: oneEnvironment,
	validateSearch: mailSearch,
	loader: loadScreenTexts,
	component: lazyRouteComponent(() => import("../screens/mail/Mail"), "Mail"),
});
const deliveries = createRoute({
	getParentRoute: () => shell,
	path: "/deliveries",
	validateSearch: deliveryListSearch,
	component: lazyRouteComponent(() => import("../screens/deliveries/Deliveries"), "Deliveries"),
});
const delivery = createRoute({
	getParentRoute: () => shell,
	path: "/deliveries/$id",
	validateSearch: shownSearch,
	loader: loadScreenTexts,
	component: lazyRouteComponent(() => import("../screens/delivery/Delivery"), "Delivery"),
});

const lookup = createRoute({
	getParentRoute: () => shell,
	path: "/lookup",
	staticData: oneEnvironment,
	loader: loadScreenTexts,
	component: lazyRouteComponent(() => import("../screens/lookup/Lookup"), "Lookup"),
});
const journey = createRoute({
	getParentRoute: () => shell,
	path: "/journey",
	validateSearch: journeySearch,
	loader: loadScreenTexts,
	component: lazyRouteComponent(() => import("../screens/journey/Journey"), "Journey"),
});
const phone = createRoute({
	getParentRoute: () => shell,
	path: "/phone",
	staticData: oneEnvironment,
	validateSearch: (search): { number?: string } => ({ number: matching(/^\d{8,15}$/, search.number) }),
	loader: loadScreenTexts,
	component: lazyRouteComponent(() => import("../screens/phone/Phone"), "Phone"),
});

const missing = createRoute({ getParentRoute: () => shell, path: "$", component: () => <Missing /> });

export function makeRouter(queries: QueryClient) {
	return createRouter({
		routeTree: root.addChildren([login, accountRoutes, shell.addChildren([home, overview, integrations, integration, connect, map, keys, endpoints, endpoint, eventTypes, eventType, replays, replay, audit, operatorList, tokens, alerts, tenants, mail, health, deliveries, delivery, lookup, journey, phone, missing])]),
		context: { queries },
		parseSearch,
		stringifySearch,
		defaultPreload: "intent",
		defaultPendingComponent: Loading,
		defaultErrorComponent: ({ error, reset }) => <Crashed error={error} reset={reset} />,
		scrollRestoration: false,
	});
}

declare module "@tanstack/react-router" {
	interface StaticDataRouteOption {
		/** environments is false where live and test data are not apart: there is nothing to choose. */
		environments?: false;
	}
	interface Register {
		router: ReturnType<typeof makeRouter>;
	}
}
