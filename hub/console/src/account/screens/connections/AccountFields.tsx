import { TextInput } from "@mantine/core";
import type { Values } from "../../../ui/Form";
import { useTexts } from "../../i18n";
import type { Settings } from "./queries";

const cloudFields = ["phoneNumberId", "wabaId", "accessToken", "appSecret", "verifyToken"] as const;
const bridgeFields = ["url", "secret"] as const;
const secrets: readonly string[] = ["accessToken", "appSecret", "verifyToken", "secret"];

/** hasAccount reports whether connections of a driver have an account of their own. */
export const hasAccount = (driver: string): boolean => driver === "cloud" || driver === "bridge";

const fieldsOf = (driver: string): readonly string[] => (driver === "cloud" ? cloudFields : driver === "bridge" ? bridgeFields : []);

/** accountOf returns what was written of a driver's account. Fields that are empty stay as they are. */
export function accountOf(driver: string, { maybe }: Values): Pick<Settings, "cloud" | "bridge"> {
	const account = Object.fromEntries(fieldsOf(driver).flatMap((name) => (maybe(name) === undefined ? [] : [[name, maybe(name)]])));
	return driver === "cloud" ? { cloud: account } : driver === "bridge" ? { bridge: account } : {};
}

/** AccountFields are the fields of a driver's account. The product never shows what they hold. */
export function AccountFields({ driver, required }: { driver: string; required?: boolean }) {
	const { connections: texts } = useTexts();
	return fieldsOf(driver).map((name) => (
		<TextInput
			key={name}
			name={name}
			type={secrets.includes(name) ? "password" : "text"}
			autoComplete="off"
			required={required}
			maxLength={name === "accessToken" ? 1024 : name === "url" ? 500 : 200}
			label={texts.account[name]}
			description={texts.accountHelp[name]}
		/>
	));
}
