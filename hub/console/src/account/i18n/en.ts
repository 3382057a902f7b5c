import { clinic } from "./clinic.en";
import { messaging } from "./messaging.en";

// The catalogue that the others are checked against: a key that one lacks does not compile.
export const messages = {
	...clinic,
	...messaging,
	nav: { connections: "Connections", integrations: "Integrations", connect: "Connect", keys: "API keys", log: "Webhook log", clinic: "Patients", inbox: "Inbox", imports: "Imports", deletions: "Deletion requests", messaging: "Messages", chatConnections: "Chat connections" },
	shell: {
		search: "Search the log by event, delivery or correlation id",
		roles: { owner: "Owner", admin: "Administrator", staff: "Staff", professional: "Professional", user: "User" } as Record<string, string>,
	},
	integrations: {
		lead: "Other products that this account is connected to.",
		empty: "Connect another product with a key that it issued.",
		connect: "Connect a product",
		disconnect: "Disconnect",
		disconnectText: (product: string) => `This ends the connection with ${product} for good: keys and secrets are removed, and ${product} is notified. Type ${product} to confirm.`,
	},
	connect: {
		title: "Connect a product",
		lead: "Keys and secrets are exchanged by the two products.",
		peer: "With a key of the other product",
		other: "From the other side",
		otherLead: "The other product can connect too: give its administrator this address and a key of this account.",
		ourURL: "Address of this account's API",
		issue: "Create a key",
	},
	keys: {
		lead: "Keys for other products. A key is shown once; then how it begins and ends.",
		empty: "Create one for a product that is to connect with this account.",
	},
	log: {
		title: "Webhook log",
		lead: "What was sent to other products and what came from them, newest first.",
		phone: "About a phone number",
		phoneHelp: "With area code. The number is not kept in the address.",
		emptyTitle: "Nothing was sent or received yet",
		empty: "Webhooks appear here once another product is connected.",
	},
};

export type AccountMessages = typeof messages;
