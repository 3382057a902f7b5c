import { ApiError } from "../../api/client";

export const steps = ["address", "reach", "api", "key", "product", "register"] as const;
export type Step = (typeof steps)[number];

const stepsOf: Record<string, Step> = {
	validation_failed: "address",
	product_not_hosted: "address",
	url_not_allowed: "address",
	peer_unreachable: "reach",
	peer_timeout: "reach",
	peer_failed: "api",
	peer_answer: "api",
	peer_limited: "api",
	remote_key_rejected: "key",
	environment_mismatch: "key",
	key_in_use: "key",
	unexpected_product: "product",
	peer_not_active: "product",
	other_account_connected: "product",
};

/** Failure is where connecting stopped: the step, the hub's sentence, and the text that helps. isUntried is whether the hub refused before the first step. */
export type Failure = { step: Step; cause: string; fix: string; isUntried: boolean };

/** failureOf finds the step that an error belongs to, and what helps. */
export function failureOf(error: unknown): Failure {
	if (!(error instanceof ApiError)) return { step: "address", cause: String(error), fix: "other", isUntried: true };
	const { reason } = (error.problem ?? {}) as { reason?: string };
	const field = error.problem?.errors?.[0]?.location ?? "";
	const step = error.code === "validation_failed" && field.endsWith("api_key") ? "key" : error.code === "validation_failed" && field.endsWith("product") ? "product" : stepsOf[error.code];
	const isUntried = reason === "not_asked" || error.code === "validation_failed";
	let fix = isUntried || !reason ? error.code : reason;
	if (error.status === 403) fix = "forbidden";
	else if (isUntried && step === "product") fix = "product";
	return { isUntried, step: step ?? "address", cause: error.problem?.detail ?? error.message, fix };
}
