import { queryOptions, useSuspenseQuery } from "@tanstack/react-query";
import { bodyOf, client, type Session, setCSRFToken } from "../api/client";

export const sessionQuery = queryOptions({
	queryKey: ["session"],
	staleTime: Number.POSITIVE_INFINITY,
	queryFn: async (): Promise<Session> => {
		const session = await bodyOf(client.GET("/api/v1/session"));
		setCSRFToken(session.csrf_token);
		return session;
	},
});

/** useSession returns who is logged in; pages below the shell always have it. */
export const useSession = () => useSuspenseQuery(sessionQuery).data;

export async function logIn(email: string, password: string): Promise<Session> {
	const session = await bodyOf(client.POST("/api/v1/session", { body: { email, password } }));
	setCSRFToken(session.csrf_token);
	return session;
}

export const logOut = () => bodyOf(client.DELETE("/api/v1/session"));
