import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { Environment } from "../../../api/client";
import type { components } from "../../api/clinic";
import { bodyOf, clinic } from "../../client";
import { nextPage, pageSize } from "../pages";
import { inEnvironment } from "../queries";
import type { InboxSearch } from "./search";

export type InboxEntry = components["schemas"]["InboxEntry"];
export type Patient = components["schemas"]["Patient"];

export const inboxKey = ["account", "clinic", "inbox"] as const;

export const inboxQuery = (environment: Environment, status: InboxSearch["status"]) =>
	infiniteQueryOptions({
		queryKey: [...inboxKey, environment, status ?? "open"],
		initialPageParam: 1,
		queryFn: ({ pageParam: page, signal }) => bodyOf(clinic.GET("/api/v1/integrations/inbox", { signal, params: { header: inEnvironment(environment), query: { page, per_page: pageSize, status } } })),
		getNextPageParam: nextPage,
	});

/** zoneQuery reads the zone that the clinic's days are counted in. */
export const zoneQuery = queryOptions({
	queryKey: ["account", "clinic", "zone"],
	staleTime: 60_000,
	queryFn: async ({ signal }) => (await bodyOf(clinic.GET("/api/v1/clinic", { signal }))).timezone,
});

export const patientQuery = (environment: Environment, id: string) =>
	queryOptions({
		queryKey: ["account", "clinic", "patient", environment, id],
		staleTime: 60_000,
		queryFn: ({ signal }) => bodyOf(clinic.GET("/api/v1/patients/{id}", { signal, params: { header: inEnvironment(environment), path: { id } } })),
	});

const offered = 20; // patients in one response

/** patientsQuery searches patients. What is searched for names people: it is in the body, and not in the address of the page. */
export const patientsQuery = (environment: Environment, search: string) =>
	queryOptions({
		queryKey: ["account", "clinic", "patients", environment, search],
		staleTime: 60_000,
		queryFn: ({ signal }) => bodyOf(clinic.POST("/api/v1/patients/search", { signal, params: { header: inEnvironment(environment) }, body: { search, page: 1, per_page: offered } })),
	});

export const linkEntry = (environment: Environment, id: string, patient_id: string) =>
	bodyOf(clinic.POST("/api/v1/integrations/inbox/{id}/link", { params: { header: inEnvironment(environment), path: { id } }, body: { patient_id } }));

export const dismissEntry = (environment: Environment, id: string) => bodyOf(clinic.POST("/api/v1/integrations/inbox/{id}/dismiss", { params: { header: inEnvironment(environment), path: { id } } }));
