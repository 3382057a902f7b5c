import { createRoute, lazyRouteComponent, notFound, redirect, retainSearchParams } from "@tanstack/react-router";
import { ApiError } from "../api/client";
import { isHosted, type ProductName } from "../app/hosted";
import { root } from "../app/root";
import { oneOf } from "../app/search";
import { Missing } from "../ui/states";

/** accountOf loads who is logged in, or leads to the login. */
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
const missing = createRoute({ getParentRoute: () => account, path: "$", component: () => <Missing /> });

export const accountRoutes = account.addChildren([home, integrations, missing]);
