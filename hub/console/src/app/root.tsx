import type { QueryClient } from "@tanstack/react-query";
import { createRootRouteWithContext, Outlet } from "@tanstack/react-router";
import { Missing } from "../ui/states";

/** root is above the operators' screens and those of products' accounts. */
export const root = createRootRouteWithContext<{ queries: QueryClient }>()({
	component: Outlet,
	notFoundComponent: () => <Missing />,
});
