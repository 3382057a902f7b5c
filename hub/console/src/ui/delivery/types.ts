import type { components } from "../../api/schema";

/** Delivery is one of the log with its attempts: the hub's and the products' APIs have the same. */
export type Delivery = components["schemas"]["Detail"];
export type Attempt = Delivery["attempts"][number];
