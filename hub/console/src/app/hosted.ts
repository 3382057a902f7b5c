// The hosted products whose accounts can log in here. The hub writes those that it runs, with
// their paths, into the page.
export const productNames = ["scheduling", "clinic", "messaging"] as const;
export type ProductName = (typeof productNames)[number];

/** Titles are names of products: the same in every language. */
export const productTitles: Record<ProductName, string> = { scheduling: "Scheduling", clinic: "Clinic", messaging: "Messaging" };

const listed = document.querySelector<HTMLMetaElement>("meta[name=hub-products]")?.content ?? "";
const paths = new Map(listed.split(" ").map((entry) => entry.split("=") as [string, string]));

/** hostedProducts returns those that run here, in the order of their names above. */
export const hostedProducts = (): ProductName[] => productNames.filter((name) => paths.has(name));

/** isHosted reports whether a text names a product that runs here. */
export const isHosted = (name: unknown): name is ProductName => hostedProducts().some((known) => known === name);

/** basePath returns where a product's API lies. */
export const basePath = (product: ProductName): string => paths.get(product) ?? `/${product}`;
