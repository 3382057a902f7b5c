// Calls a running hub with clients that openapi-typescript (used by openapi-fetch) and
// @hey-api/openapi-ts generated from its documents: events are published, and each product
// gets an account and a person. Environment: HUB_URL, HUB_TOKEN (of an administrator).
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { paths as Clinic } from "./types/clinic";
import type { paths as Hub } from "./types/hub";
import type { paths as Messaging } from "./types/messaging";
import type { paths as Scheduling } from "./types/scheduling";
import { client as clinicClient } from "./sdk/clinic/client.gen";
import { authRegister as registerClinic, patientsCreate, patientsList } from "./sdk/clinic/sdk.gen";
import { client as hubClient } from "./sdk/hub/client.gen";
import { deliveriesList, endpointsCreate, eventsPublish, keysCreate, productsCreate, tenantsCreate } from "./sdk/hub/sdk.gen";
import { client as messagingClient } from "./sdk/messaging/client.gen";
import { authSignup, contactsCreate, contactsList } from "./sdk/messaging/sdk.gen";
import { client as schedulingClient } from "./sdk/scheduling/client.gen";
import { authRegister as registerOrganization, clientsCreate, clientsList } from "./sdk/scheduling/sdk.gen";

const base = process.env["HUB_URL"] ?? "";
const operator = { Authorization: `Bearer ${process.env["HUB_TOKEN"] ?? ""}` };
const password = "correct horse battery staple";
const phone = "+5511987654321";
const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

/** Answer of a generated client: data is absent where the status is no success. */
interface Answer<T> { data?: T; error?: unknown; response?: Response }

function expect<T>(what: string, status: number, answer: Answer<T>): T {
	assert.equal(answer.response?.status, status, `${what}: ${JSON.stringify(answer.error)}`);
	assert.ok(answer.data !== undefined, what);
	console.log(what);
	return answer.data;
}

async function withFetch(): Promise<void> {
	const hub = createClient<Hub>({ baseUrl: base, headers: operator });
	expect("fetch: products.create", 201, await hub.POST("/api/v1/products", { body: { name: "fetchshop", prefix: "fet" } }));
	const tenant = expect("fetch: tenants.create", 201, await hub.POST("/api/v1/tenants", { body: { product: "fetchshop", name: "Sun" } }));
	const key = expect("fetch: keys.create", 201, await hub.POST("/api/v1/keys", { body: { tenant_id: tenant.id, environment: "live" } }));
	expect("fetch: endpoints.create", 201, await hub.POST("/api/v1/endpoints", { body: { tenant_id: tenant.id, url: "http://127.0.0.1:9/hook", event_types: ["order.made"] } }));
	const server = createClient<Hub>({ baseUrl: base, headers: { "X-Integration-Key": key.api_key } });
	const event = expect("fetch: events.publish", 202, await server.POST("/api/v1/events", { body: { event_type: "order.made", data: { n: 1 } } }));
	assert.equal(event.deliveries, 1);
	const log = expect("fetch: deliveries.list", 200, await hub.GET("/api/v1/deliveries", { params: { query: { tenant_id: tenant.id } } }));
	assert.deepEqual(log.items.map((item) => item.event_id), [event.id]);

	const scheduling = createClient<Scheduling>({ baseUrl: `${base}/scheduling` });
	const organization = expect("fetch: scheduling auth.register", 201, await scheduling.POST("/api/v1/auth/register", { body: { org_name: "Sun", org_slug: "fetch-sun", name: "Ana", email: "fetch@example.com", password } }));
	expect("fetch: scheduling clients.create", 201, await scheduling.POST("/api/v1/clients", { headers: bearer(organization.access_token), body: { name: "Maria", phone } }));
	const clients = expect("fetch: scheduling clients.list", 200, await scheduling.GET("/api/v1/clients", { headers: bearer(organization.access_token) }));
	assert.deepEqual(clients.items.map((client) => client.name), ["Maria"]);

	const messaging = createClient<Messaging>({ baseUrl: `${base}/messaging` });
	const company = expect("fetch: messaging auth.signup", 201, await messaging.POST("/auth/signup", { body: { name: "Ana", email: "fetch@example.com", password } }));
	expect("fetch: messaging contacts.create", 201, await messaging.POST("/contacts", { headers: bearer(company.token), body: { name: "Maria", number: "5511987654321" } }));
	const contacts = expect("fetch: messaging contacts.list", 200, await messaging.GET("/contacts", { headers: bearer(company.token) }));
	assert.deepEqual(contacts.contacts.map((contact) => contact.name), ["Maria"]);

	const clinic = createClient<Clinic>({ baseUrl: `${base}/clinic` });
	const account = expect("fetch: clinic auth.register", 201, await clinic.POST("/api/v1/auth/register", { body: { clinic_name: "Sun", name: "Ana", email: "fetch@example.com", password } }));
	expect("fetch: clinic patients.create", 201, await clinic.POST("/api/v1/patients", { headers: bearer(account.access_token), body: { name: "Maria", phone } }));
	const patients = expect("fetch: clinic patients.list", 200, await clinic.GET("/api/v1/patients", { headers: bearer(account.access_token) }));
	assert.deepEqual(patients.items.map((patient) => patient.name), ["Maria"]);
}

async function withSDK(): Promise<void> {
	hubClient.setConfig({ baseUrl: base, headers: operator });
	schedulingClient.setConfig({ baseUrl: `${base}/scheduling` });
	messagingClient.setConfig({ baseUrl: `${base}/messaging` });
	clinicClient.setConfig({ baseUrl: `${base}/clinic` });
	expect("sdk: products.create", 201, await productsCreate({ body: { name: "sdkshop", prefix: "sdk" } }));
	const tenant = expect("sdk: tenants.create", 201, await tenantsCreate({ body: { product: "sdkshop", name: "Sun" } }));
	const key = expect("sdk: keys.create", 201, await keysCreate({ body: { tenant_id: tenant.id } }));
	expect("sdk: endpoints.create", 201, await endpointsCreate({ body: { tenant_id: tenant.id, url: "http://127.0.0.1:9/hook", event_types: ["order.made"] } }));
	const event = expect("sdk: events.publish", 202, await eventsPublish({ headers: { Authorization: null, "X-Integration-Key": key.api_key } as never, body: { event_type: "order.made", data: { n: 1 } } }));
	assert.equal(event.deliveries, 1);
	const log = expect("sdk: deliveries.list", 200, await deliveriesList({ query: { tenant_id: tenant.id } }));
	assert.deepEqual(log.items.map((item) => item.event_id), [event.id]);

	const organization = expect("sdk: scheduling auth.register", 201, await registerOrganization({ body: { org_name: "Sun", org_slug: "sdk-sun", name: "Ana", email: "sdk@example.com", password } }));
	schedulingClient.setConfig({ headers: bearer(organization.access_token) });
	expect("sdk: scheduling clients.create", 201, await clientsCreate({ body: { name: "Maria", phone } }));
	const clients = expect("sdk: scheduling clients.list", 200, await clientsList());
	assert.deepEqual(clients.items.map((client) => client.name), ["Maria"]);

	const company = expect("sdk: messaging auth.signup", 201, await authSignup({ body: { name: "Ana", email: "sdk@example.com", password } }));
	messagingClient.setConfig({ headers: bearer(company.token) });
	expect("sdk: messaging contacts.create", 201, await contactsCreate({ body: { name: "Maria", number: "5511987654321" } }));
	const contacts = expect("sdk: messaging contacts.list", 200, await contactsList());
	assert.deepEqual(contacts.contacts.map((contact) => contact.name), ["Maria"]);

	const account = expect("sdk: clinic auth.register", 201, await registerClinic({ body: { clinic_name: "Sun", name: "Ana", email: "sdk@example.com", password } }));
	clinicClient.setConfig({ headers: bearer(account.access_token) });
	expect("sdk: clinic patients.create", 201, await patientsCreate({ body: { name: "Maria", phone } }));
	const patients = expect("sdk: clinic patients.list", 200, await patientsList());
	assert.deepEqual(patients.items.map((patient) => patient.name), ["Maria"]);
}

withFetch().then(withSDK).catch((error: unknown) => {
	console.error(error);
	process.exitCode = 1;
});
