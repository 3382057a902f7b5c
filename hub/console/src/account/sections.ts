import type { LinkProps } from "@tanstack/react-router";
import type { ProductName } from "../app/hosted";
import type { AccountMessages } from "./i18n/en";

type Screen = { to: LinkProps["to"]; label: keyof AccountMessages["nav"]; products?: readonly ProductName[] };

// The navigation, in its order. A screen without products is in every product.
export const sections: { title: keyof AccountMessages["nav"]; screens: Screen[] }[] = [
	{
		title: "connections",
		screens: [
			{ to: "/account/$product/integrations", label: "integrations" },
		],
	},
	{
		title: "clinic",
		screens: [
			{ to: "/account/$product/inbox", label: "inbox", products: ["clinic"] },
			{ to: "/account/$product/imports", label: "imports", products: ["clinic"] },
			{ to: "/account/$product/deletions", label: "deletions", products: ["clinic"] },
		],
	},
	{
		title: "messaging",
		screens: [{ to: "/account/$product/connections", label: "chatConnections", products: ["messaging"] }],
	},
];
