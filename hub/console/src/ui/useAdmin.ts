import { useSession } from "../app/session";

/** useAdmin is whether the operator is an administrator, who may change what support only reads. */
export const useAdmin = (): boolean => useSession().operator.role === "admin";
