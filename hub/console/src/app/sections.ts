// The navigation, in its order. Labels are keys of the catalogues' "nav".
export const sections = [
	{
		title: "observe",
		screens: [
			{ to: "/overview", label: "overview" },
			{ to: "/deliveries", label: "deliveries" },
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
			{ to: "/map", label: "map" },
		],
	},
] as const;
