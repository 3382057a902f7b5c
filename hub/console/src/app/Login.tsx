import { Alert, Button, PasswordInput, Stack, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { ApiError } from "../api/client";
import { useLanguage } from "../i18n";
import { LanguageSelect } from "./LanguageSelect";
import classes from "./Login.module.css";
import icon from "./icon.svg";
import { logIn, sessionQuery } from "./session";

const route = getRouteApi("/login");

export function Login() {
	const { t } = useLanguage();
	const { to, ended } = route.useSearch();
	const queries = useQueryClient();
	const router = useRouter();
	const [error, setError] = useState("");
	const [busy, setBusy] = useState(false);

	const submit = async (event: FormEvent<HTMLFormElement>) => {
		event.preventDefault();
		const form = new FormData(event.currentTarget);
		setBusy(true);
		try {
			const session = await logIn(String(form.get("email")), String(form.get("password")));
			queries.clear();
			queries.setQueryData(sessionQuery.queryKey, session);
			router.history.push(to ?? "/");
		} catch (failure) {
			const status = failure instanceof ApiError ? failure.status : -1;
			const texts: Record<number, string> = { 0: t.login.unreachable, 401: t.login.wrong, 422: t.login.wrong, 429: t.login.tooMany };
			setError(texts[status] ?? t.login.failed);
			setBusy(false);
		}
	};

	return (
		<main className={classes.page}>
			<div className={`panel ${classes.card}`}>
				<img src={icon} width={40} height={40} alt="" />
				<h1>{t.app.name}</h1>
				{ended && !error && <Alert variant="default">{t.login.ended}</Alert>}
				<form onSubmit={submit} aria-label={t.login.title}>
					<Stack gap="sm">
						<TextInput name="email" type="email" label={t.login.email} autoComplete="username" required withAsterisk={false} autoFocus maxLength={254} />
						<PasswordInput name="password" label={t.login.password} autoComplete="current-password" required withAsterisk={false} maxLength={200} />
						<div role="alert" className={classes.error}>
							{error}
						</div>
						<Button type="submit" loading={busy} fullWidth>
							{t.login.submit}
						</Button>
					</Stack>
				</form>
				<details className={classes.first}>
					<summary>{t.login.firstTitle}</summary>
					<p>{t.login.first}</p>
				</details>
			</div>
			<LanguageSelect />
		</main>
	);
}
