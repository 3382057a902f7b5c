import { createRoute, lazyRouteComponent, notFound, redirect, retainSearchParams } from "@tanstack/react-router";
import { ApiError } from "../api/client";
import { isHosted, type ProductName } from "../app/hosted";
import { root } from "../app/root";
import { oneOf } from "../app/search";
import { loadScreenTexts } from "../i18n/screens";
import { logSearch } from "../ui/deliveries/search";
import { shownSearch } from "../ui/delivery/search";
import { Missing } from "../ui/states";
import { deletionsSearch } from "./screens/deletions/search";
import { inboxSearch } from "./screens/inbox/search";

// It loads who is logged in, or leads to the login.
const account = createRoute({
	getParentRoute: () => root,
	path: "/account/$product",
	params: { parse: ({ product }) => ({ product: product as ProductName }), stringify: ({ product }) => ({ product }) },
	validateSearch: (search): { environment?: "test" } => ({ environment: oneOf(["test"], search.environment) }),
	search: { middlewares: [retainSearchParams(["environment"])] },
	beforeLoad: async ({ context, location, params: { product } }) => {
		if (!isHosted(product)) throw notFound();
		try {
			const { accountQuery } = await import("./session");
			await context.queries.ensureQueryData(accountQuery(product));
		} catch (error) {
			if (!(error instanceof ApiError) || error.status !== 401) throw error;
			throw redirect({ to: "/login", search: { as: product, to: location.href }, replace: true });
		}
	},
	component: lazyRouteComponent(() => import("./AccountShell"), "AccountShell"),
	notFoundComponent: () => <Missing />,
});

const home = createRoute({
	getParentRoute: () => account,
	path: "/",
	beforeLoad: ({ params, search }) => {
		throw redirect({ to: "/account/$product/integrations", params, search, replace: true });
	},
});
const integrations = createRoute({
	getParentRoute: () => account,
	path: "/integrations",
	component: lazyRouteComponent(() => import("./screens/Integrations"), "AccountIntegrations"),
});
const integration = createRoute({
	getParentRoute: () => account,
	path: "/integrations/$id",
	component: lazyRouteComponent(() => import("./screens/Integration"), "AccountIntegration"),
});
const connect = createRoute({
	getParentRoute: () => account,
	path: "/connect",
	loader: loadScreenTexts,
	component: lazyRouteComponent(() => import("./screens/Connect"), "AccountConnect"),
});
const keys = createRoute({
	getParentRoute: () => account,
	path: "/keys",
	loader: loadScreenTexts,
	component: lazyRouteComponent(() => import("./screens/Keys"), "AccountKeys"),
});
const log = createRoute({
	getParentRoute: () => account,
	path: "/log",
	validateSearch: logSearch,
	component: lazyRouteComponent(() => import("./screens/Log"), "AccountLog"),
});
const delivery = createRoute({
	getParentRoute: () => account,
	path: "/log/$id",
	validateSearch: shownSearch,
	component: lazyRouteComponent(() => import("./screens/Delivery"), "AccountDelivery"),
});
/** only keeps a product's own screens from the accounts of others. */
function only(own: ProductName, product: ProductName) {
	if (product !== own) throw notFound();
}

const deletions = createRoute({
	getParentRoute: () => account,
	path: "/deletions",
	validateSearch: deletionsSearch,
	beforeLoad: ({ params }) => only("clinic", params.product),
	component: lazyRouteComponent(() => import("./screens/deletions/Deletions"), "Deletions"),
});
const deletion = createRoute({
	getParentRoute: () => account,
	path: "/deletions/$id",
	beforeLoad: ({ params }) => only("clinic", params.product),
	component: lazyRouteComponent(() => import("./screens/deletions/Deletion"), "Deletion"),
});
const inbox = createRoute({
	getParentRoute: () => account,
	path: "/inbox",
	validateSearch: inboxSearch,
	beforeLoad: ({ params }) => only("clinic", params.product),
	component: lazyRouteComponent(() => import("./screens/inbox/Inbox"), "Inbox"),
});
const imports = createRoute({
	getParentRoute: () => account,
	path: "/imports",
	beforeLoad: ({ params }) => only("clinic", params.product),
	component: lazyRouteComponent(() => import("./screens/imports/Imports"), "Imports"),
});
const newImport = createRoute({
	getParentRoute: () => account,
	path: "/imports/new",
	beforeLoad: ({ params }) => only("clinic", params.product),
	component: lazyRouteComponent(() => import("./screens/imports/NewImport"), "NewImport"),
});
const importDetail = createRoute({
	getParentRoute: () => account,
	path: "/imports/$id",
	beforeLoad: ({ params }) => only("clinic", params.product),
	component: lazyRouteComponent(() => import("./screens/imports/Import"), "Import"),
});
const connections = createRoute({
	getParentRoute: () => account,
	path: "/connections",
	staticData: { environments: false }, // a company has one set of data
	beforeLoad: ({ params }) => only("messaging", params.product),
	component: lazyRouteComponent(() => import("./screens/connections/Connections"), "Connections"),
});
const connection = createRoute({
	getParentRoute: () => account,
	path: "/connections/$id",
	staticData: { environments: false }, // a company has one set of data
	beforeLoad: ({ params }) => only("messaging", params.product),
	component: lazyRouteComponent(() => import("./screens/connections/Connection"), "Connection"),
});

const missing = createRoute({ getParentRoute: () => account, path: "$", component: () => <Missing /> });

export const accountRoutes = account.addChildren([home, integrations, integration, connect, keys, log, delivery, deletions, deletion, inbox, imports, newImport, importDetail, connections, connection, missing]);
