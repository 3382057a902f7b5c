import { NativeSelect } from "@mantine/core";
import { type Language, languages, useLanguage } from "../i18n";

export function LanguageSelect() {
	const { t, language, setLanguage } = useLanguage();
	return (
		<NativeSelect
			aria-label={t.app.language}
			size="xs"
			value={language}
			onChange={(event) => setLanguage(event.currentTarget.value as Language)}
			data={Object.entries(languages).map(([value, label]) => ({ value, label }))}
		/>
	);
}
