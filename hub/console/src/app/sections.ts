// The navigation, in its order. Labels are keys of the catalogues' "nav".
export const sections = [
	{
		title: "observe",
		screens: [
			{ to: "/overview", label: "overview" },
			{ to: "/deliveries", label: "deliveries" },
			{ to: "/replays", label: "replays" },
			{ to: "/system", label: "health" },
		],
	},
	{
		title: "support",
		screens: [
			{ to: "/lookup", label: "lookup" },
			{ to: "/journey", label: "journey" },
			{ to: "/phone", label: "phone" },
		],
	},
	{
		title: "connections",
		screens: [
			{ to: "/integrations", label: "integrations" },
			{ to: "/connect", label: "connect" },
			{ to: "/endpoints", label: "endpoints" },
			{ to: "/event-types", label: "eventTypes" },
			{ to: "/keys", label: "keys" },
			{ to: "/map", label: "map" },
		],
	},
	{
		title: "administration",
		screens: [
			{ to: "/tenants", label: "tenants" },
			{ to: "/operators", label: "operators" },
			{ to: "/tokens", label: "tokens" },
			{ to: "/alerts", label: "alerts" },
			{ to: "/audit", label: "audit" },
			{ to: "/mail", label: "mail", adminsOnly: true },
		],
	},
] as const;
