import { Button, PasswordInput, TextInput } from "@mantine/core";
import { type FormEvent, type ReactNode, useState } from "react";
import { useScreenTexts } from "../../i18n/screens";
import classes from "./Connect.module.css";

/** Peer is another product's account, as its administrator names it. */
export type Peer = { product: string; api_url: string; api_key: string };

type Props = { busy: boolean; onSubmit: (peer: Peer) => void; children?: ReactNode; /** known are products whose address is known. */ known?: Record<string, string> };

/** PeerForm asks for another product's address and the key that it issued. */
export function PeerForm({ busy, onSubmit, children, known = {} }: Props) {
	const screens = useScreenTexts();
	const [url, setURL] = useState("");
	const submit = (event: FormEvent<HTMLFormElement>) => {
		event.preventDefault();
		const form = new FormData(event.currentTarget);
		const text = (name: string) => String(form.get(name) ?? "").trim();
		onSubmit({ product: text("product"), api_url: text("api_url"), api_key: text("api_key") });
	};
	const choose = (product: string) => {
		if (known[product] && (url === "" || Object.values(known).includes(url))) setURL(known[product]);
	};
	return (
		<form className={classes.form} onSubmit={submit} autoComplete="off">
			{children}
			<TextInput name="product" required maxLength={40} pattern="[a-z][a-z0-9\-]{1,39}" label={screens.connect.product} description={screens.connect.productHelp} list="known-products" onChange={(event) => choose(event.currentTarget.value)} />
			<datalist id="known-products">
				{Object.keys(known).map((product) => (
					<option key={product} value={product} />
				))}
			</datalist>
			<TextInput name="api_url" required type="url" maxLength={2048} label={screens.connect.apiURL} description={screens.connect.apiURLHelp} value={url} onChange={(event) => setURL(event.currentTarget.value)} />
			<PasswordInput name="api_key" required maxLength={512} label={screens.connect.apiKey} autoComplete="off" />
			<Button size="sm" type="submit" loading={busy}>
				{screens.connect.submit}
			</Button>
		</form>
	);
}
