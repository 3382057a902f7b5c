import { clinic } from "./clinic.en";
import { messaging } from "./messaging.en";

// The catalogue that the others are checked against: a key that one lacks does not compile.
export const messages = {
	...clinic,
	...messaging,
	nav: { connections: "Connections", integrations: "Integrations", clinic: "Patients", inbox: "Inbox", imports: "Imports", deletions: "Deletion requests", messaging: "Messages", chatConnections: "Chat connections" },
	shell: {
		search: "Search the log by event, delivery or correlation id",
		roles: { owner: "Owner", admin: "Administrator", staff: "Staff", professional: "Professional", user: "User" } as Record<string, string>,
	},
	integrations: {
		lead: "Other products that this account is connected to.",
		empty: "Connect another product with a key that it issued.",
	},
};

export type AccountMessages = typeof messages;
