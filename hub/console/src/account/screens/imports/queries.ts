import { infiniteQueryOptions, type QueryClient, type QueryKey, queryOptions } from "@tanstack/react-query";
import type { Environment } from "../../../api/client";
import type { components } from "../../api/clinic";
import { bodyOf, clinic } from "../../client";
import { nextPage, pageSize } from "../pages";
import { inEnvironment } from "../queries";

export type Import = components["schemas"]["Import"];
export type ImportDetail = components["schemas"]["ImportDetail"];
export type ImportPreview = components["schemas"]["ImportPreview"];
export type Format = Import["format"];

/** Upload is a file to import. Its contents stay on the disk until they are sent. */
export type Upload = { file: File; format: Format; source: string };

export const importsKey = ["account", "clinic", "imports"] as const;

/** isRunning reports whether an import or its undo goes on. */
export const isRunning = (row: Import): boolean => row.status === "pending" || row.status === "running" || row.undo?.status === "running";

export const importsQuery = (environment: Environment) =>
	infiniteQueryOptions({
		queryKey: [...importsKey, environment],
		initialPageParam: 1,
		queryFn: ({ pageParam: page, signal }) => bodyOf(clinic.GET("/api/v1/imports", { signal, params: { header: inEnvironment(environment), query: { page, per_page: pageSize } } })),
		getNextPageParam: nextPage,
		refetchInterval: (query) => (query.state.data?.pages.some((part) => part.items.some(isRunning)) ? 2000 : false),
	});

export const importQuery = (environment: Environment, id: string) =>
	queryOptions({
		queryKey: ["account", "clinic", "import", environment, id],
		queryFn: ({ signal }) => bodyOf(clinic.GET("/api/v1/imports/{id}", { signal, params: { header: inEnvironment(environment), path: { id } } })),
		refetchInterval: (query) => (query.state.data && isRunning(query.state.data) ? 1000 : false),
	});

/** Checked is the file that a check was made of, and how its first rows are understood. */
export type Checked = { upload: Upload; preview: ImportPreview };

/** checkedQuery returns what was checked, until the page is reloaded; then null. */
export const checkedQuery = (id: string) =>
	queryOptions({
		queryKey: ["account", "clinic", "import-checked", id],
		staleTime: Number.POSITIVE_INFINITY,
		gcTime: 30 * 60_000,
		queryFn: (): Checked | null => null,
	});

async function send(environment: Environment, upload: Upload, dryRun: boolean) {
	const form = new FormData();
	form.set("format", upload.format);
	if (upload.source) form.set("source", upload.source);
	form.set("dry_run", String(dryRun));
	form.set("file", upload.file);
	return bodyOf(clinic.POST("/api/v1/imports", { params: { header: inEnvironment(environment) }, body: { file: upload.file.name, format: upload.format }, bodySerializer: () => form }));
}

/** checkFile finds out what importing a file would do, and returns the id of the check. */
export async function checkFile(queries: QueryClient, environment: Environment, upload: Upload): Promise<string> {
	const { id, preview } = await send(environment, upload, true);
	queries.setQueryData<Checked>(checkedQuery(id).queryKey as QueryKey, { upload, preview });
	return id;
}

/** importFile imports a file and returns the id of the import. */
export const importFile = async (environment: Environment, upload: Upload): Promise<string> => (await send(environment, upload, false)).id;

export const undoImport = (environment: Environment, id: string) => bodyOf(clinic.POST("/api/v1/imports/{id}/undo", { params: { header: inEnvironment(environment), path: { id } } }));
