import { TextInput, type TextInputProps } from "@mantine/core";
import { instantOf } from "../app/instant";
import { usePreferences } from "../app/preferences";

/** TimeField is a field for a time, in the zone that it names. */
export function TimeField({ label, ...props }: Omit<TextInputProps, "label" | "type"> & { label: string }) {
	const { utc } = usePreferences();
	return <TextInput type="datetime-local" label={`${label} (${utc ? "UTC" : new Intl.DateTimeFormat().resolvedOptions().timeZone})`} {...props} />;
}

/** useInstant returns what reads such a field. */
export function useInstant() {
	const { utc } = usePreferences();
	return (text?: string) => (text ? instantOf(text, utc) : undefined);
}
