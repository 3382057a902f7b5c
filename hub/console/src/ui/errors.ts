import { ApiError } from "../api/client";

/** detailOf is what an error says to people. */
export const detailOf = (error: unknown): string => (error instanceof ApiError ? (error.problem?.errors?.map((field) => `${field.location.replace(/^body\./, "")} ${field.message}`).join("; ") || error.problem?.detail || error.message) : String(error));
