import { Alert, Button, NativeSelect, PasswordInput, Stack, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { ApiError } from "../api/client";
import { useLanguage } from "../i18n";
import { LanguageSelect } from "./LanguageSelect";
import classes from "./Login.module.css";
import { hostedProducts, productTitles } from "./hosted";
import icon from "./icon.svg";
import { logIn, sessionQuery } from "./session";
import { PageTitle } from "../ui/PageTitle";

const route = getRouteApi("/login");

export function Login() {
	const { t } = useLanguage();
	const { to, ended, as } = route.useSearch();
	const navigate = route.useNavigate();
	const products = hostedProducts();
	const queries = useQueryClient();
	const router = useRouter();
	const [error, setError] = useState("");
	const [busy, setBusy] = useState(false);

	const submit = async (event: FormEvent<HTMLFormElement>) => {
		event.preventDefault();
		const form = new FormData(event.currentTarget);
		setBusy(true);
		try {
			const [email, password] = [String(form.get("email")), String(form.get("password"))];
			if (as) {
				const account = await import("../account/session");
				await account.logIn(as, email, password);
				queries.removeQueries({ queryKey: ["account", as] });
				router.history.push(to?.startsWith(`/account/${as}/`) ? to : `/account/${as}`);
				return;
			}
			const session = await logIn(email, password);
			queries.clear();
			queries.setQueryData(sessionQuery.queryKey, session);
			router.history.push(to?.startsWith("/account/") ? "/" : (to ?? "/"));
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
				<PageTitle title={t.app.name} />
				{ended && !error && <Alert variant="default">{t.login.ended}</Alert>}
				<form onSubmit={submit} aria-label={t.login.title}>
					<Stack gap="sm">
						{products.length > 0 && (
							<NativeSelect
								label={t.login.as}
								value={as ?? ""}
								onChange={(event) => {
									setError("");
									void navigate({ search: (was) => ({ ...was, as: products.find((product) => product === event.currentTarget.value) }), replace: true });
								}}
								data={[{ value: "", label: t.login.operator }, ...products.map((product) => ({ value: product, label: t.login.account(productTitles[product]) }))]}
							/>
						)}
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
				{!as && (
					<details className={classes.first}>
						<summary>{t.login.firstTitle}</summary>
						<p>{t.login.first}</p>
					</details>
				)}
			</div>
			<LanguageSelect />
		</main>
	);
}
