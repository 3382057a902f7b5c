import { client, read } from "../../api/client";
import type { paths } from "../../api/schema";

export type Found = paths["/api/v1/lookup"]["post"]["responses"]["200"]["content"]["application/json"];

/** lookUp searches for a phone number, which is in the request's body: addresses are logged. */
export const lookUp = (phone: string): Promise<Found> => read(client.POST("/api/v1/lookup", { body: { phone } }));

/** lastKey is where the last result stays while the page is open. */
export const lastKey = ["lookup"];
