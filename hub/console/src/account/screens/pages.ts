/** pageSize is the largest page that the products' lists have. */
export const pageSize = 100;

/** nextPage returns the number of the page that follows, of a list that is read by numbers. */
export const nextPage = (last: { page: number; pages: number }): number | undefined => (last.page < last.pages ? last.page + 1 : undefined);
